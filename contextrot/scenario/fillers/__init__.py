"""The phrases that filler is built from, one kind of work a file.

Texts only: no digits, no codes, no names a fact could be mistaken for; what a kind pastes may keep other rules, which
its file states. To add a kind: a file with a `Kind` and a line here.
"""

from __future__ import annotations

from contextrot.scenario.fillers.base import Kind
from contextrot.scenario.fillers.calendar import CALENDAR
from contextrot.scenario.fillers.code_review import CODE_REVIEW
from contextrot.scenario.fillers.email import EMAIL
from contextrot.scenario.fillers.incidents import INCIDENTS
from contextrot.scenario.fillers.notes import NOTES
from contextrot.scenario.fillers.research import RESEARCH
from contextrot.scenario.fillers.small_talk import SMALL_TALK
from contextrot.scenario.fillers.tickets import TICKETS
from contextrot.scenario.fillers.tutoring import TUTORING

KINDS: dict[str, Kind] = {
    "tickets": TICKETS,
    "notes": NOTES,
    "small_talk": SMALL_TALK,
    "code_review": CODE_REVIEW,
    "incidents": INCIDENTS,
    "calendar": CALENDAR,
    "email": EMAIL,
    "tutoring": TUTORING,
    "research": RESEARCH,
}
