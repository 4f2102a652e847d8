"""Where a run stands and where its verdicts come from, in sentences: cut short by a cap, or judged anew."""

from __future__ import annotations

from contextrot.analysis.figures import Origin, Summary
from contextrot.config import flag_of
from contextrot.report.words import clean, counted, one_line


def state_sentences(summary: Summary) -> list[str]:
    """What a reader has to know of the run as a whole; empty for a completed one that is as it was recorded."""
    return [*_unfinished(summary), *_rescored(summary.origin)]


def _unfinished(summary: Summary) -> list[str]:
    if summary.status in ("", "completed"):
        return []
    said = f"The run is {clean(summary.status)}"
    if cap := summary.origin.limit.get("cap"):
        said += f" by the cap {flag_of(clean(cap))}{_value(cap, summary.origin.limit.get('value'))}"
    counts = [
        f"{summary.origin.limit[name]:,} {word}"
        for name, word in (("completed", "complete"), ("cut", "cut short"), ("not_started", "not begun"))
        if summary.origin.limit.get(name) is not None
    ]
    if counts:
        said += f" ({', '.join(counts)} of its sessions)"
    return [f"{said}: these figures are of what is there so far."]


def _value(cap: str, value: float | None) -> str:
    if value is None:
        return ""
    return f" ${value:,.6g}" if cap == "max_cost" else f" {value:,.0f}"


def _rescored(origin: Origin) -> list[str]:
    mark = origin.rescored
    if not mark:
        return []
    source, at, version = (one_line(mark.get(name) or "", 120) for name in ("from", "at", "version"))
    said = "The run was rescored: its verdicts were given anew"
    said += f" to the replies of {source}" if source else ""
    said += f" on {at[:16].replace('T', ' ')} UTC" if at else ""
    said += f" by the checks of contextrot {version}" if version else ""
    if mark.get("graded") is not None and mark.get("changed") is not None:
        said += f"; {mark['changed']:,} of {counted(mark['graded'], 'verdict')} changed"
    return [f"{said}."]
