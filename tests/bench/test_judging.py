"""Judges in a bench: asked where they decide, recorded, replayed, counted apart, and no part of the session."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import orjson
import pytest
from fault_server import error, serving
from recorded import ask, last, of, replies, session, sessions, verdicts, write
from small_bench import bench, session_lines

from contextrot.analysis.tables import load_run
from contextrot.errors import ConfigError, StoreError

SCENARIO = """\
contextrot: 1
id: warm
constraints:
  - {id: warm, text: Be warm to the customer., check: {type: judge, rubric: The reply is warm to the customer.}}
facts:
  - {id: code, text: "For later: our project code is {value}.", values: [BLUE-42], at: 1}
filler: {kind: notes, tokens_per_turn: 40}
session: {turns: 3}
probes:
  - id: code
    ask: What is our project code?
    at: [1, 3]
    check:
      type: all_of
      checks: [{type: recall, fact: code}, {type: judge, rubric: The reply is one sentence., votes: 1}]
"""


def verdict(word: str) -> str:
    return orjson.dumps({"verdict": word, "reason": f"because {word}"}).decode()


def data(body: dict[str, Any]) -> dict[str, Any]:
    """What a judge was given to read."""
    text = last(body)
    return orjson.loads(text[: text.rindex("}\n\n") + 1])


def judging(speak: Any) -> Any:
    """A server that answers as the assistant, and as the judge when it is asked to grade."""

    def say(body: dict[str, Any]) -> str:
        if "You grade one reply" in body["messages"][0]["content"]:
            return speak(data(body))
        return "Good morning, it is BLUE-42." if "code?" in last(body) else "Good morning!"

    return replies(say)


def warm_if_it_greets(asked: dict[str, Any]) -> str:
    return verdict("pass" if "Good morning" in asked["reply"] else "fail")


def test_verdicts_are_the_judges_and_its_calls_are_counted_apart(tmp_path: Path) -> None:
    with serving() as server:
        server.plays(judging(warm_if_it_greets))
        served = {"id": f"endpoint/served@{server.url}", "window": 4096}
        ask(server, tmp_path / "run", write(tmp_path, SCENARIO), judge=served)
    records = session(tmp_path / "run")
    assert {outcome for _, _, outcome in verdicts(tmp_path / "run")} == {"pass"}
    votes = of(records, "call", purpose="judge")
    # three turns and two probes keep the standing rule by two equal votes each; each probe has a judge of one vote
    assert len(votes) == 5 * 2 + 2
    assert all(vote["occupancy"] is None and vote["view"]["messages"] for vote in votes)
    assert not any("You grade" in str(message) for message in of(records, "msg"))
    row = load_run(tmp_path / "run").sessions.iloc[0]
    assert row["judge_calls"] == len(votes)
    assert row["calls"] == len(of(records, "call"))
    assert 0 < row["judge_tokens"] < row["prompt_tokens"] + row["completion_tokens"]
    assert load_run(tmp_path / "run").turns["purpose"].eq("judge").sum() == len(votes)


def test_the_judge_sees_the_question_and_the_reply_it_is_about(tmp_path: Path) -> None:
    seen: list[dict[str, Any]] = []

    def look(asked: dict[str, Any]) -> str:
        seen.append(asked)
        return verdict("fail")

    with serving() as server:
        server.plays(judging(look))
        served = {"id": f"endpoint/served@{server.url}", "window": 4096}
        ask(server, tmp_path / "run", write(tmp_path, SCENARIO), judge=served)
    probes = [asked for asked in seen if asked["rubric"] == "The reply is one sentence."]
    assert {asked["question"] for asked in probes} == {"What is our project code?"}
    assert {asked["reply"] for asked in probes} == {"Good morning, it is BLUE-42."}
    assert any("For later: our project code" in asked["question"] for asked in seen)
    failed = of(session(tmp_path / "run"), "verdict", kind="probe", outcome="fail")
    assert failed[0]["reason"] == "`judge`: the judge (0 pass, 1 fail, 0 undecided): because fail"


def test_a_judge_is_not_asked_where_a_cheaper_check_has_failed(tmp_path: Path) -> None:
    def forgetful(body: dict[str, Any]) -> str:
        return verdict("pass") if "You grade one reply" in body["messages"][0]["content"] else "I forgot it, my friend."

    with serving() as server:
        server.plays(replies(forgetful))
        served = {"id": f"endpoint/served@{server.url}", "window": 4096}
        ask(server, tmp_path / "run", write(tmp_path, SCENARIO), judge=served)
    votes = of(session(tmp_path / "run"), "call", purpose="judge")
    rubrics = [orjson.loads(v["view"]["messages"][1]["content"].rpartition("}\n\n")[0] + "}")["rubric"] for v in votes]
    assert "The reply is one sentence." not in rubrics
    assert rubrics


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (["pass", "fail", "pass"], "pass"),
        (["fail", "pass", "fail"], "fail"),
        (["pass", "fail", "unsure"], "inconclusive"),
        (["unsure", "unsure"], "inconclusive"),
    ],
)
def test_votes_are_calls_of_their_own(tmp_path: Path, answers: list[str], expected: str) -> None:
    scenario = SCENARIO[: SCENARIO.index("facts:")] + "session: {turns: 1}\n"
    given = iter(answers)
    asked: list[dict[str, Any]] = []

    def say(body: dict[str, Any]) -> str:
        if "You grade one reply" not in body["messages"][0]["content"]:
            return "Good morning!"
        asked.append(body)
        return verdict(next(given))

    with serving() as server:
        server.plays(replies(say))
        served = {"id": f"endpoint/served@{server.url}", "window": 4096}
        ask(server, tmp_path / "run", write(tmp_path, scenario), judge=served)
    assert verdicts(tmp_path / "run") == [("warm", 1, expected)]
    assert len(asked) == len(answers)
    assert asked[0]["temperature"] == 0
    assert all(body["temperature"] > 0 for body in asked[1:])
    assert len({body["seed"] for body in asked}) == len(asked)


def test_an_outage_of_the_judge_ends_no_session_and_grades_nothing(tmp_path: Path) -> None:
    with serving() as server, serving() as judge:
        server.plays(judging(warm_if_it_greets))
        judge.plays(error(500, "down"))
        served = {"id": f"endpoint/judge@{judge.url}", "window": 4096}
        ask(server, tmp_path / "run", write(tmp_path, SCENARIO), judge=served)
    records = session(tmp_path / "run")
    assert records[-1]["ended"] == "completed"
    assert {record["outcome"] for record in of(records, "verdict")} == {"error"}
    assert all("could not be asked" in record["reason"] for record in of(records, "verdict"))
    assert {vote["asked"] for vote in of(records, "call", purpose="judge")} == {served["id"]}


def test_without_a_judge_nothing_is_asked_at_all(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--judge MODEL"):
        bench(tmp_path / "run", write(tmp_path, SCENARIO), models=["sim/perfect"])
    assert not (tmp_path / "run").exists()


def test_a_judge_is_no_part_of_a_scenario_that_needs_none(tmp_path: Path) -> None:
    plain = SCENARIO.replace(
        "{type: judge, rubric: The reply is warm to the customer.}", "{type: keyword, none: [ugh]}"
    )
    plain = plain.replace(
        ", {type: judge, rubric: The reply is one sentence., votes: 1}", ", {type: keyword, none: [ugh]}"
    )
    settings: dict[str, Any] = {"models": ["sim/perfect"], "strategies": ["full"], "repeats": 1}
    bench(tmp_path / "a", write(tmp_path, plain), **settings)
    bench(tmp_path / "b", write(tmp_path, plain), judge="sim/perfect", **settings)
    assert session_lines(tmp_path / "a") == session_lines(tmp_path / "b")


SIMULATED: dict[str, Any] = {"models": ["sim/perfect"], "strategies": ["full"], "repeats": 1, "judge": "sim/perfect"}


def test_simulated_judges_know_what_simulated_models_say(tmp_path: Path) -> None:
    bench(tmp_path / "run", write(tmp_path, SCENARIO), **SIMULATED)
    found = {
        (v["kind"], v["id"]): v["outcome"] for _, r in sessions(tmp_path / "run").items() for v in of(r, "verdict")
    }
    assert found == {
        ("ceiling", "code"): "pass",
        ("ceiling", "warm"): "pass",
        ("floor", "code"): "fail",
        ("floor", "warm"): "fail",
        ("passive", "warm"): "pass",
        ("probe", "code"): "pass",
    }


def test_resume_replays_votes_and_asks_only_what_is_missing(tmp_path: Path) -> None:
    scenario = write(tmp_path, SCENARIO)
    bench(tmp_path / "whole", scenario, **SIMULATED)
    whole = session_lines(tmp_path / "whole")
    bench(tmp_path / "cut", scenario, **SIMULATED)
    (key,) = (key for key in whole if "control" not in key)
    path = tmp_path / "cut" / "sessions" / f"{key}.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    votes = [number for number, line in enumerate(lines) if b'"purpose":"judge"' in line]
    for cut in (votes[0], votes[1], votes[-1] + 1):
        path.write_bytes(b"".join(lines[:cut]))
        bench(tmp_path / "cut", scenario, **SIMULATED)
        assert session_lines(tmp_path / "cut") == whole
    with pytest.raises(StoreError, match="judge"):
        bench(tmp_path / "cut", scenario, **(SIMULATED | {"judge": "sim/hazard"}))


def test_a_judge_of_the_checks_own_is_asked_in_place_of_the_benchs(tmp_path: Path) -> None:
    own = SCENARIO.replace("sentence., votes: 1}", "sentence., votes: 1, model: sim/hazard?hazard=1}")
    bench(tmp_path / "run", write(tmp_path, own), **SIMULATED)
    asked = {c["asked"] for _, r in sessions(tmp_path / "run").items() for c in of(r, "call", purpose="judge")}
    assert asked == {"sim/perfect", "sim/hazard?hazard=1"}
    assert {v["outcome"] for v in of(session(tmp_path / "run", "full"), "verdict", kind="probe")} == {"fail"}


AGENT = """\
class Agent:
    def feed(self, text):
        return "Good morning!" if "project code" not in text else "It is BLUE-42, good morning."

class Judge:
    def feed(self, text):
        return '{"verdict": "%s", "reason": "r"}' % ("pass" if "morning" in text.rpartition('"reply"')[2] else "fail")
"""


def test_agents_are_judged_and_can_judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "judged_agent.py").write_text(AGENT, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("judged_agent", None)
    settings = SIMULATED | {"models": ["python:judged_agent:Agent"], "judge": "python:judged_agent:Judge"}
    bench(tmp_path / "run", write(tmp_path, SCENARIO), **settings)
    records = session(tmp_path / "run", "own-memory")
    assert {record["outcome"] for record in of(records, "verdict")} == {"pass"}
    calls = of(records, "call")
    assert [call["n"] for call in calls] == list(range(len(calls)))
    assert of(records, "call", purpose="judge")


@pytest.mark.real
def test_the_embedded_model_can_be_asked_and_never_decides_what_it_did_not_say(tmp_path: Path) -> None:
    """135 million parameters do not judge well; what counts is that each verdict follows from votes on record."""
    scenario = (
        SCENARIO[: SCENARIO.index("facts:")].replace("customer.}}", "customer., votes: 1}}") + "session: {turns: 1}\n"
    )
    settings = SIMULATED | {"judge": "local/smollm2-135m", "controls": False, "window": 2_000}
    bench(tmp_path / "run", write(tmp_path, scenario), **settings)
    records = session(tmp_path / "run")
    (vote,) = of(records, "call", purpose="judge")
    assert vote["model"] == "local/smollm2-135m"
    assert vote["usage"]["prompt_tokens"] > 100
    (found,) = of(records, "verdict")
    said = vote["reply"]["content"]
    decided = {word for word in ("pass", "fail") if f'"verdict": "{word}"' in said}
    assert found["outcome"] == "inconclusive" or {found["outcome"]} == decided


class Outage:
    """A judge that can be asked for the first `good` votes only, until `over`; counts what it is asked."""

    def __init__(self, good: int, word: str = "pass") -> None:
        self.good, self.word, self.asked, self.over = good, word, 0, False

    async def __call__(self, request: Any) -> Any:
        self.asked += 1
        if self.over or self.asked <= self.good:
            return await replies(lambda body: verdict(self.word if self.over else "pass"))(request)
        return await error(500, "down")(request)


def outage(tmp_path: Path, judge: Outage, spoken: list[str], **settings: Any) -> Path:
    """A run against a judge with an outage, run again once more when it is over."""

    def say(body: dict[str, Any]) -> str:
        spoken.append(last(body))
        return "Good morning, it is BLUE-42." if "code?" in last(body) else "Good morning!"

    with serving() as server, serving() as judging_server:
        server.plays(replies(say))
        judging_server.plays(judge)
        settings["judge"] = {"id": f"endpoint/judge@{judging_server.url}", "window": 4096}
        out, scenario = tmp_path / "run", write(tmp_path, SCENARIO)
        ask(server, out, scenario, **settings)
        assert "error" in {record["outcome"] for record in of(session(out), "verdict")}
        before = session_lines(out)
        ask(server, out, scenario, **settings)  # still down: nothing is lost by asking in vain
        assert [v["outcome"] for v in of(session(out), "verdict")].count("error") > 0
        assert len(session_lines(out).popitem()[1]) == len(before.popitem()[1])
        spoken.append("-- over --")
        judge.over, judge.asked = True, 0
        ask(server, out, scenario, **settings)
        asked = judge.asked
        ask(server, out, scenario, **settings)
        assert judge.asked == asked
    return out


@pytest.mark.parametrize("good", [0, 3, 7])
def test_after_an_outage_of_the_judge_only_the_failed_votes_are_asked_again(tmp_path: Path, good: int) -> None:
    judge, spoken = Outage(good), list[str]()
    out = outage(tmp_path, judge, spoken)
    records = session(out)
    assert spoken[-1] == "-- over --"
    assert len(spoken) == 3 + 2 + 1  # three turns and two probes, each asked once
    assert {record["outcome"] for record in of(records, "verdict")} == {"pass"}
    votes = of(records, "call", purpose="judge")
    assert len(votes) == 5 * 2 + 2
    assert judge.asked == len(votes) - good
    calls = of(records, "call")
    assert [call["n"] for call in calls] == list(range(len(calls)))
    graded = {call["n"] for call in calls if call["purpose"] != "judge"}
    assert {record["call"] for record in of(records, "verdict")} <= graded
    assert {record["call"] for record in of(records, "msg", origin="reply")} == graded
    assert records[-1]["ended"] == "completed"
    assert not list((out / "sessions").glob(".*"))


def test_what_a_strategy_would_have_done_after_the_verdict_is_done_then(tmp_path: Path) -> None:
    judge, spoken = Outage(0, "fail"), list[str]()
    out = outage(tmp_path, judge, spoken, strategies=[{"type": "re_anchor", "every_n_turns": 50}])
    records = session(out)
    assert {record["outcome"] for record in of(records, "verdict")} == {"fail"}
    assert records[-1]["ended"] == "completed"
    assert spoken[-1] != "-- over --"
    calls = of(records, "call")
    assert [call["n"] for call in calls] == list(range(len(calls)))


def test_a_cap_that_ends_the_asking_again_takes_nothing_away(tmp_path: Path) -> None:
    """What was recorded before the outage of a judge is paid for: a cap reached over the missing votes keeps it."""
    judge, spoken = Outage(0), list[str]()

    def say(body: dict[str, Any]) -> str:
        spoken.append(last(body))
        return "Good morning, it is BLUE-42." if "code?" in last(body) else "Good morning!"

    with serving() as server, serving() as judging_server:
        server.plays(replies(say))
        judging_server.plays(judge)
        settings = {"judge": {"id": f"endpoint/judge@{judging_server.url}", "window": 4096}}
        out, scenario = tmp_path / "run", write(tmp_path, SCENARIO)
        ask(server, out, scenario, **settings)
        before = session_lines(out)
        spent = sum(record["attempts"] for record in of(session(out), "call"))
        judge.over = True
        manifest = ask(server, out, scenario, max_calls=spent + 2, **settings)
        assert (manifest["status"], manifest["limit"]["cut"]) == ("limited", 1)
        assert session_lines(out) == before
        manifest = ask(server, out, scenario, max_calls=spent + 100, **settings)
    assert manifest["status"] == "completed"
    assert len(spoken) == 3 + 2
    assert {record["outcome"] for record in of(session(out), "verdict")} == {"pass"}
    assert not list((out / "sessions").glob(".*"))


def test_a_vote_that_came_to_nothing_reopens_no_session(tmp_path: Path) -> None:
    with serving() as server:
        server.plays(judging(lambda asked: "I would rather not say."))
        served = {"id": f"endpoint/served@{server.url}", "window": 4096}
        out, scenario = tmp_path / "run", write(tmp_path, SCENARIO)
        ask(server, out, scenario, judge=served)
        before = session_lines(out)
        ask(server, out, scenario, judge=served)
        assert session_lines(out) == before


def test_a_simulated_model_never_satisfies_a_check_inside_another(tmp_path: Path) -> None:
    bench(tmp_path / "run", write(tmp_path, SCENARIO), **(SIMULATED | {"models": ["sim/perfect?cannot=recall"]}))
    asked = of(session(tmp_path / "run", "full"), "verdict", kind="probe")
    assert {(v["outcome"], v["reason"].startswith("`recall`")) for v in asked} == {("fail", True)}
    forbidden = SCENARIO.replace("{type: recall, fact: code}", "{type: not, check: {type: recall, fact: code}}")
    bench(tmp_path / "not", write(tmp_path, forbidden), **(SIMULATED | {"models": ["sim/perfect?cannot=recall"]}))
    asked = of(session(tmp_path / "not", "full"), "verdict", kind="probe")
    assert {v["outcome"] for v in asked} == {"pass"}
