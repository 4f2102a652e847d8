"""The colours of the terminal: middle tones, readable on a black and on a white background alike.

The eight named colours are whatever the terminal's theme says: yellow, cyan and bright white vanish on white, blue and
dim on black. These are of the 256 that every theme leaves alone, each at a contrast of about 4:1 to either side.
Where there are fewer colours rich takes the nearest.
"""

from __future__ import annotations

#: passed, kept, better
GOOD = "color(28)"
#: failed, broken, worse
BAD = "bold color(160)"
#: undecided, in doubt, to be known before the figures are believed
WARN = "color(166)"
#: what stands beside the matter: models, totals, hints
QUIET = "color(243)"
#: roles and other names of what was sent; bars and curves
SENT = "color(31)"
#: what a strategy did
DID = "color(164)"
#: the mark of simulated runs
SIMULATED = "bold reverse"
