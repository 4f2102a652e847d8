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
    "lost or ignored": f"lost: {words.DEFINITIONS['lost']} ignored: {words.DEFINITIONS['ignored']} Against the "
    "first helps a strategy that keeps what counts; against the second a shorter prompt (which a strategy may make), "
    "the rule said again, or another model.",
    "incapable": words.DEFINITIONS["incapable"],
    "ceiling, floor": words.DEFINITIONS["ceiling, floor"],
    "warn, rotate (recommended)": "the session budget: up to this turn, or this share of the window, 95 % (warn) or "
    "85 % (rotate) of the ceiling still held, on the falling curve through the rates. It is what to ship; the median "
    "session length says when half of the sessions had failed once, the effective length asks it of every rate. "
    "On a curve that rises again no knee is claimed: `not monotone`.",
    "WARN level, ROTATE level": words.DEFINITIONS["WARN level, ROTATE level"],
    "is it rot?": "any constant error rate shortens sessions. Rot is a rate that falls with the turn: a trend whose "
    "interval lies below 0, or a small p against the constant rate.",
    "at depth": words.DEFINITIONS["at depth"],
    "n": "decided checks. Those that were truncated, empty or failed are listed apart and enter no rate.",
}
