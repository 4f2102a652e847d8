"""`python`: a user's own function; its errors are errors, its source is part of what the scenario is."""

from pathlib import Path

import pytest

from contextrot.checks import check, grade, load_check
from contextrot.checks.examples import example_reply
from contextrot.errors import ConfigError, ScenarioError
from contextrot.messages import Reply
from contextrot.outcomes import Outcome
from contextrot.scenario import load_scenario

CODE = """
from contextrot.outcomes import Outcome, Verdict
TIMES = []
TIMES.append(1)

def even(reply):
    return len(reply.text.split()) % 2 == 0

def why(reply, facts):
    value = facts["code"].value
    return value in reply.text, f"looked for {value}"

def own(reply):
    return Verdict(Outcome.INCONCLUSIVE, "who knows")

def calls(reply):
    return [call.name for call in reply.tool_calls] == ["book"]

def raises(reply):
    return 1 / 0

def odd_answer(reply):
    return "yes"

def none(reply):
    pass

def leaves(reply):
    raise SystemExit(3)

async def later(reply):
    return True

def three(a, b, c):
    return True

number = 3

class Tools:
    @staticmethod
    def short(reply, *, most=3):
        return len(reply.text) <= most
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "checks.py").write_text(CODE, encoding="utf-8")
    return tmp_path


def load(folder: Path, function: str, **parameters: object):
    return load_check({"type": "python", "function": function, **parameters}, base_dir=folder)


def test_true_and_false_are_pass_and_fail(folder: Path) -> None:
    even = load(folder, "checks.py:even")
    assert grade(even, Reply("one two")).outcome is Outcome.PASS
    verdict = grade(even, Reply("one two three"))
    assert verdict.outcome is Outcome.FAIL
    assert "checks.py:even" in verdict.reason


def test_facts_and_reasons_go_in_and_out(folder: Path) -> None:
    why = load(folder, "checks.py:why", facts=["code"])
    assert why.fact_ids() == ("code",)
    assert check(why, "It is BLUE-42.", facts={"code": "BLUE-42"}).outcome is Outcome.PASS
    verdict = check(why, "It is TEAL-7.", facts={"code": "BLUE-42"})
    assert (verdict.outcome, verdict.reason) == (Outcome.FAIL, "looked for BLUE-42")


def test_a_verdict_is_taken_as_it_is(folder: Path) -> None:
    assert check(load(folder, "checks.py:own"), "x").outcome is Outcome.INCONCLUSIVE


def test_tool_calls_are_seen_where_that_is_asked_for(folder: Path) -> None:
    reply = {"content": None, "tool_calls": [{"id": "1", "function": {"name": "book", "arguments": "{}"}}]}
    assert check(load(folder, "checks.py:calls"), reply).outcome is Outcome.NOT_EXERCISED
    assert check(load(folder, "checks.py:calls", tool_calls=True), reply).outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("function", "word"),
    [("raises", "ZeroDivisionError"), ("odd_answer", "'yes'"), ("none", "None"), ("leaves", "SystemExit")],
)
def test_a_fault_of_the_function_is_an_error_and_no_failure_of_the_reply(
    folder: Path, function: str, word: str
) -> None:
    verdict = check(load(folder, f"checks.py:{function}"), "x")
    assert verdict.outcome is Outcome.ERROR
    assert word in verdict.reason
    turned = load_check({"type": "not", "check": load(folder, f"checks.py:{function}")})
    assert check(turned, "x").outcome is Outcome.ERROR


HOSTILE = """\
from contextrot.outcomes import Outcome, Verdict

class Mute(Exception):
    def __str__(self):
        raise RuntimeError("no words")
    __repr__ = __str__

def raises(reply):
    raise Mute

def returns(reply):
    return Mute()

def half(reply):
    return True, "half a character: \\ud83d"

def wordless(reply):
    return Verdict(Outcome.FAIL, None)

def unknown(reply):
    return Verdict("maybe")

def forgets(reply, facts):
    facts.clear()
    return True
"""


@pytest.mark.parametrize(
    ("function", "outcome", "word"),
    [
        ("raises", "error", "Mute"),
        ("returns", "error", "Mute"),
        ("half", "pass", "half a character: ?"),
        ("wordless", "fail", ""),
        ("unknown", "error", "maybe"),
    ],
)
def test_no_function_breaks_the_session_it_grades(folder: Path, function: str, outcome: str, word: str) -> None:
    (folder / "hostile.py").write_text(HOSTILE, encoding="utf-8")
    verdict = check(load(folder, f"hostile.py:{function}"), "x")
    assert verdict.outcome.value == outcome
    assert word in verdict.reason
    verdict.reason.encode()


def test_what_a_function_prints_is_no_part_of_the_output(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "loud.py").write_text("print('loaded')\ndef f(reply):\n    print('asked')\n    return True\n")
    assert check(load(folder, "loud.py:f"), "x").outcome is Outcome.PASS
    print("after")
    said = capsys.readouterr()
    assert (said.out, said.err) == ("after\n", "loaded\nasked\n")


def test_a_function_changes_no_facts_for_the_checks_after_it(folder: Path) -> None:
    (folder / "hostile.py").write_text(HOSTILE, encoding="utf-8")
    first = {"type": "python", "function": "hostile.py:forgets", "facts": ["code"]}
    both = load_check({"type": "all_of", "checks": [first, {"type": "recall", "fact": "code"}]}, base_dir=folder)
    assert check(both, "It is BLUE-42.", facts={"code": "BLUE-42"}).outcome is Outcome.PASS
    assert check(both, "It is TEAL-7.", facts={"code": "BLUE-42"}).outcome is Outcome.FAIL


def test_a_method_and_an_installed_module_can_be_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check(load(folder, "checks.py:Tools.short"), "abc").outcome is Outcome.PASS
    assert check(load(folder, "checks.py:Tools.short"), "abcd").outcome is Outcome.FAIL
    (folder / "my_rules.py").write_text("def ok(reply):\n    return reply.text == 'ok'\n", encoding="utf-8")
    monkeypatch.chdir(folder)
    assert check({"type": "python", "function": "my_rules:ok"}, "ok").outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("function", "word"),
    [
        ("checks.py", "module:function"),
        ("checks.py:", "module:function"),
        ("checks.py:evn", "it has"),
        ("missing.py:even", "cannot be read"),
        ("../other.py:even", "outside"),
        ("no_such_module_here:f", "cannot be imported"),
        ("checks.py:later", "async"),
        ("checks.py:three", "takes"),
        ("checks.py:number", "not a function"),
        ("broken.py:f", "cannot be run: SyntaxError"),
        ("leaving.py:f", "cannot be run: SystemExit"),
    ],
)
def test_what_cannot_be_called_is_refused_with_a_sentence(folder: Path, function: str, word: str) -> None:
    (folder / "broken.py").write_text("def f(:\n", encoding="utf-8")
    (folder / "leaving.py").write_text("raise SystemExit\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="`function`") as caught:
        load(folder, function)
    assert word in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_file_is_run_once(folder: Path) -> None:
    first, second = load(folder, "checks.py:even"), load(folder, "checks.py:even")
    assert first._found.function is second._found.function


def test_examples_are_tried_when_the_check_is_read_and_serve_simulated_models(folder: Path) -> None:
    right = load(folder, "checks.py:even", passes="one two", fails="one")
    for good in (True, False):
        reply = example_reply(right, {}, good)
        assert reply is not None
        assert reply.text == ("one two" if good else "one")
    with pytest.raises(ConfigError, match="`passes`"):
        load(folder, "checks.py:even", passes="one")
    with pytest.raises(ConfigError, match="`fails`"):
        load(folder, "checks.py:even", fails="one two")


SCENARIO = """\
contextrot: 1
id: own
session: {turns: 2}
probes:
  - id: p
    ask: Say two words.
    at: 1
    check: {type: all_of, checks: [{type: json}, {type: python, function: "checks.py:even"}]}
"""


def test_the_scenario_is_another_one_when_the_code_changes(folder: Path) -> None:
    path = folder / "own.yaml"
    path.write_text(SCENARIO, encoding="utf-8")
    before = load_scenario(path).content_hash
    assert load_scenario(path).content_hash == before
    (folder / "checks.py").write_text(CODE.replace("== 0", "== 1"), encoding="utf-8")
    changed = load_scenario(path)
    assert changed.content_hash != before
    assert changed.probes[0].check is not None
    python = changed.probes[0].check.parts()[1]
    assert grade(python, Reply("one")).outcome is Outcome.PASS


def test_a_missing_file_is_told_with_the_line_of_the_scenario(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(SCENARIO, encoding="utf-8")
    with pytest.raises(ScenarioError, match=r"own\.yaml:8: .*`checks\.1.*checks\.py, which cannot be read"):
        load_scenario(path)
