"""`junit.xml`: what CI systems show as tests. A case per constraint or probe, and one per gate.

A case fails only where a gate did: the checks that a failed gate covers and that were not always passed. Without a gate
nothing fails, however much rot there is, as `bench` exits 0 then (DESIGN §9); the figures stand in the suite's output.
The form is the strictest of those in use, Ant's as written down by Windy Road: what it takes, the others take as well.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree as ET

from contextrot.analysis.cases import SESSION, Case, cases
from contextrot.analysis.gates import GateOutcome, GateVerdict
from contextrot.analysis.tables import Run
from contextrot.report.gating import kept, responsible, title
from contextrot.report.words import SIMULATED, clean, counts_text, one_line, percent

#: characters that XML 1.0 cannot hold in any form (§2.2); `clean` makes most of them visible before
_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
#: no message is longer, in characters
LONGEST = 500
_KINDS = {"passive": "rule", "probe": "probe", SESSION: "session"}


def render(run: Run) -> bytes:
    """The file. Gates are those that `contextrot gate` or `bench --gate` last held the run to."""
    result = kept(run)
    gates = result.verdicts if result is not None else []
    found = cases(run)
    root = ET.Element("testsuites")
    suites: dict[str, list[Case]] = {}
    for case in found:
        suites.setdefault(f"{case.scenario} × {case.model}", []).append(case)
    if gates:
        _suite(root, run, "gates", [_gate(gate) for gate in gates])
    for name, mine in suites.items():
        told = [f"{case.strategy}, {_name(case)}: {_details(case)}" for case in mine]
        _suite(root, run, name, [_testcase(case, responsible(case, gates)) for case in mine], told)
    ET.indent(root)
    body: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return body + b"\n"


def _suite(root: ET.Element, run: Run, name: str, testcases: Sequence[ET.Element], told: Sequence[str] = ()) -> None:
    """One testsuite: properties, cases, then the two outputs, in the order the schema wants."""
    counted = {
        tag: sum(case.find(tag[:-1] if tag != "skipped" else tag) is not None for case in testcases)
        for tag in ("failures", "errors", "skipped")
    }
    suite = ET.SubElement(
        root,
        "testsuite",
        name=_safe(name),
        package="contextrot",
        id=str(len(root)),
        timestamp=str(run.config.get("started") or "1970-01-01T00:00:00")[:19],
        hostname="localhost",
        tests=str(len(testcases)),
        time=f"{sum(float(case.get('time', '0')) for case in testcases):.3f}",
    )
    for tag, count in counted.items():
        suite.set(tag, str(count))
    properties = ET.SubElement(suite, "properties")
    for key, value in _properties(run).items():
        ET.SubElement(properties, "property", name=key, value=_safe(value))
    suite.extend(testcases)
    ET.SubElement(suite, "system-out").text = _safe("\n\n".join([*([SIMULATED] if run.simulated else []), *told]))
    ET.SubElement(suite, "system-err").text = ""


def _properties(run: Run) -> dict[str, str]:
    config = run.config
    known = {
        "run": run.path.resolve().name,
        "status": run.status,
        "simulated": str(run.simulated).lower(),
        "git_commit": config.get("git_commit"),
        "contextrot": (config.get("versions") or {}).get("contextrot-bench"),
    }
    return {key: str(value) for key, value in known.items() if value}


def _gate(gate: GateVerdict) -> ET.Element:
    element = ET.Element("testcase", classname="gates", name=_safe(one_line(title(gate), LONGEST)), time="0")
    if gate.outcome is GateOutcome.FAILED:
        _add(element, "failure", "gate failed", gate.reason)
    elif gate.outcome is GateOutcome.NO_VERDICT:
        _add(element, "error", "no verdict", gate.reason)
    elif gate.outcome is GateOutcome.NOT_HELD:
        ET.SubElement(element, "skipped", message=_safe(one_line(gate.reason, LONGEST)))
    return element


def _testcase(case: Case, gates: Sequence[GateVerdict]) -> ET.Element:
    element = ET.Element(
        "testcase",
        classname=_safe(".".join(_part(name) for name in (case.scenario, case.model, case.strategy))),
        name=_safe(_name(case)),
        time=f"{case.seconds:.3f}",
    )
    if case.wrong or (case.kind == SESSION and "error" in case.undecided):
        _add(element, "error", "nothing measured", f"nothing was measured: {counts_text(case.undecided)}")
    elif not case.decided:
        ET.SubElement(element, "skipped", message=_safe(f"nothing measured: {counts_text(case.undecided)}"))
    elif case.fails and gates:
        covered = [f"covered by the failed gate: {one_line(title(gate), LONGEST)}" for gate in gates]
        body = "\n".join([_details(case), *covered])
        _add(element, "failure", case.first.cause if case.first else "", what_failed(case), body)
    return element


def _name(case: Case) -> str:
    return f"{_KINDS.get(case.kind, case.kind)} {case.id}"


def what_failed(case: Case) -> str:
    """``first failed at turn 8 (lost); 12 of 40 checks failed (lost 11, ignored 1)``."""
    if case.first is None:
        return ""
    why = f" ({case.first.cause})" if case.first.cause else ""
    whys = f" ({counts_text(case.causes)})" if len(case.causes) > 1 else ""
    return f"first failed at turn {case.first.turn}{why}; {case.fails} of {case.decided} checks failed{whys}"


def _details(case: Case) -> str:
    share = percent(case.passes / case.decided) if case.decided else "–"
    lines = [f"passed {case.passes} of {case.decided} decided checks ({share})"]
    if case.undecided:
        lines.append(f"undecided: {counts_text(case.undecided)}")
    if case.first is not None:
        lines += [
            f"first failure: turn {case.first.turn} of session {clean(case.first.session)}",
            f"why: {counts_text(case.causes) or 'no cause known'}",
            f"the check said: {one_line(case.first.reason, LONGEST)}",
            f"on: {one_line(case.first.evidence, LONGEST)}",
        ]
    return "\n".join(lines)


def _add(element: ET.Element, tag: str, kind: str, message: str, body: str = "") -> None:
    child = ET.SubElement(element, tag, type=_safe(kind or "fail"), message=_safe(one_line(message, LONGEST)))
    child.text = _safe(body or message)


def _part(name: str) -> str:
    """A part of a class name: readers split it at dots."""
    return name.replace(".", "_")


def _safe(text: object) -> str:
    """Text that XML can hold: what it cannot becomes a visible escape."""
    return _ILLEGAL.sub(lambda found: found[0].encode("unicode_escape", "surrogatepass").decode(), clean(text))
