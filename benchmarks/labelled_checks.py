"""Checks of a user's own, for the labelled replies of the type `python` (benchmarks/labelled/composed.yaml)."""

from __future__ import annotations

import re

from contextrot.messages import Reply

_DATE = re.compile(r"\b\d{1,4}[./-]\d{1,2}[./-]\d{1,4}\b")


def even_number_of_words(reply: Reply) -> bool:
    """True when the reply splits at white space into an even number of pieces."""
    return len(reply.text.split()) % 2 == 0


def only_iso_dates(reply: Reply) -> bool:
    """True when every date of the reply is written as YYYY-MM-DD."""
    return all(re.fullmatch(r"\d{4}-\d\d-\d\d", found) for found in _DATE.findall(reply.text))
