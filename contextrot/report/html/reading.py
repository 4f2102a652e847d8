"""How to read the page: what each word and mark of it means, in a sentence or two."""

from __future__ import annotations

from contextrot.report import words

#: word → meaning, in the order a reader meets them
READING = {
    "session length": words.DEFINITIONS["session length"],
    "interval": "95 % intervals " + words.DEFINITIONS["95 % intervals"] + " With few sessions they are wide, and two "
    "that overlap say that these sessions cannot tell the strategies apart.",
    "censored": "a session that came to its end, or was cut short, without a failure. It lasted at least that long; "
    "it is counted up to there (a tick on the curve) and not beyond.",
    "at risk": "sessions still without a failure, and still observed, at a turn. Where few are left, a curve rests on "
    "little, however smooth it looks.",
    "overflow": words.DEFINITIONS["overflow"],
    "lost or ignored": f"lost: {words.DEFINITIONS['lost']} ignored: {words.DEFINITIONS['ignored']} Another strategy "
    "helps against the first, not against the second.",
    "incapable": words.DEFINITIONS["incapable"],
    "ceiling, floor": words.DEFINITIONS["ceiling, floor"],
    "WARN, ROTATE": "the budget to ship: up to this turn, or this share of the window, 95 % (WARN) or 85 % (ROTATE) of "
    "the ceiling still held. On a curve that rises again no knee is claimed: `not monotone`.",
    "is it rot?": "any constant error rate shortens sessions. Rot is a rate that falls with the turn: a trend whose "
    "interval lies below 0, or a small p against the constant rate.",
    "at depth": words.DEFINITIONS["at depth"],
    "n": "decided checks. Those that were truncated, empty or failed are listed apart and enter no rate.",
}
