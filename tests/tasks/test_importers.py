"""Files of benchmarks become scenarios that say their words byte for byte and test what they test."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from task_samples import CASES, SAMPLES, imported, script_of, verdicts_of

from contextrot.errors import ConfigError, ContextrotError, NothingMatchedError, ScenarioError
from contextrot.scenario import load_scenario
from contextrot.tasks import REGISTRY, task, write

cases = pytest.mark.parametrize(("name", "path"), CASES, ids=lambda part: getattr(part, "stem", part))


@cases
def test_every_scenario_is_valid_and_names_its_source_and_licence(name: str, path: Path, tmp_path: Path) -> None:
    found = REGISTRY[name].read(path).scenarios
    for raw in found:
        scenario = load_scenario(write(raw, tmp_path))
        assert scenario.source == REGISTRY[name].source
        assert "Licence of the data: " in (scenario.source or "")
    assert len({raw["id"] for raw in found}) == len(found)


@cases
def test_a_perfect_model_passes_everything(name: str, path: Path, tmp_path: Path) -> None:
    verdicts = verdicts_of("sim/perfect", tmp_path, name, path, judge="sim/perfect")
    asked = verdicts[verdicts["kind"].isin(["probe", "passive", "ceiling"])]
    assert len(asked) > 0
    failed = asked[asked["outcome"] != "pass"]
    assert failed.empty, failed[["scenario", "id", "turn", "kind", "outcome", "reason"]].to_string()


def test_a_model_with_known_errors_fails_some_of_it(tmp_path: Path) -> None:
    path = REGISTRY["mt-eval"].sample
    assert path is not None
    verdicts = verdicts_of("sim/hazard?hazard=0.3", tmp_path, "mt-eval", path)
    rate = (verdicts.loc[verdicts["kind"] == "passive", "outcome"] == "pass").mean()
    assert 0.5 < rate < 0.9


def test_mt_eval_states_its_instruction_once_and_checks_every_reply() -> None:
    path = REGISTRY["mt-eval"].sample
    assert path is not None
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for row, scenario in zip(rows, imported("mt-eval", path).values(), strict=True):
        script = script_of(scenario)
        assert [turn.user for turn in script.turns] == [turn["user"] for turn in row["conv"]]
        assert [passive.subject.turn for passive in script.passive] == [1]
        assert script.history == "live"


def test_mt_eval_refinements_are_asked_after_the_recorded_turns_they_refine() -> None:
    [scenario] = imported("mt-eval", SAMPLES / "refinement_multi.jsonl").values()
    script = script_of(scenario)
    asked = {ask.id: ask for turn in script.turns for ask in turn.forks}
    assert list(asked) == ["refine-2", "refine-3", "refine-4", "refine-6"]  # the first turn of a task refines nothing
    assert [ask.turn for ask in asked.values()] == [1, 2, 3, 5]
    assert asked["refine-2"].check.model_dump()["at_most"] == 12
    assert asked["refine-4"].check.model_dump()["none"] == ("Odra", "Vell")
    assert asked["refine-3"].check.type_name == "judge"
    [ceiling] = [control for control in script.controls if control.id == "refine-6" and control.kind == "ceiling"]
    assert ceiling.text.startswith("Content: The lighthouse of Vell")
    assert ceiling.text.endswith("Name all places of the content.\n\nAnswer in upper case.")


def test_mt_eval_labels_are_one_inline_probe_per_document() -> None:
    [scenario] = imported("mt-eval", SAMPLES / "recollection_multi_cls.jsonl").values()
    script = script_of(scenario)
    assert [turn.inline.check.model_dump()["value"] for turn in script.turns if turn.inline] == [
        "Sea", "Mountain", "Desert", "Sea"
    ]  # fmt: skip
    floors = [control for control in script.controls if control.kind == "floor"]
    assert all("categories" not in floor.text for floor in floors)


def test_mt_eval_leaves_out_tasks_that_have_no_rule(tmp_path: Path) -> None:
    conv = [{"user": f"Question {n}?", "sys": "Answer.", "id": str(n), "do_inference": n > 2} for n in range(1, 6)]
    path = tmp_path / "follow-up_multi.jsonl"
    path.write_text(json.dumps({"conv": conv, "id": "1"}), encoding="utf-8")
    with pytest.raises(NothingMatchedError, match="1 × dialogues of the task follow-up"):
        REGISTRY["mt-eval"].read(path)


def test_longmemeval_history_is_the_sessions_in_order_byte_for_byte() -> None:
    rows = json.loads((SAMPLES / "longmemeval_oracle.json").read_text(encoding="utf-8"))
    scenarios = imported("longmemeval", SAMPLES / "longmemeval_oracle.json")
    script = script_of(scenarios["longmemeval-syn_0001"])
    messages = [message for session in rows[0]["haystack_sessions"] for message in session]
    users = [message["content"] for message in messages if message["role"] == "user"]
    assert [turn.user.rpartition("]\n\n")[2] for turn in script.turns] == users
    assert "Thanks.\r\nAnd a\ttab, an emoji 🐕, and a line end.  " in users
    assert [turn.reply for turn in script.turns] == [m["content"] for m in messages if m["role"] == "assistant"]
    assert script.turns[2].user.startswith("[2024/01/09 (Tue) 18:30]\n\nI am looking for toys")


def test_longmemeval_asks_after_the_evidence_half_way_and_at_the_end() -> None:
    scenarios = imported("longmemeval", SAMPLES / "longmemeval_oracle.json")
    [probe] = scenarios["longmemeval-syn_0001"].probes
    assert (probe.at, probe.facts) == ((3, 4, 6), ("evidence-3",))
    assert probe.ask == "Today is 2024/03/20 (Wed) 09:00.\n\nWhat breed is my dog?"
    checks = {name.removeprefix("longmemeval-syn_"): s.probes[0].check for name, s in scenarios.items()}
    assert {name: check.type_name for name, check in checks.items() if check} == {
        "0001": "recall", "0002": "recall", "0003": "recall", "0004": "recall", "0005": "judge", "0006_abs": "abstain"
    }  # fmt: skip
    aliased = checks["0003"]
    assert aliased is not None
    assert aliased.model_dump()["aliases"] == ("25:50",)


def test_evidence_of_several_turns_is_said_again_in_the_ceiling_and_tells_lost_from_ignored() -> None:
    script = script_of(imported("longmemeval", SAMPLES / "longmemeval_oracle.json")["longmemeval-syn_0002"])
    [ceiling] = [control for control in script.controls if control.kind == "ceiling"]
    assert "two model kits" in ceiling.text
    assert "Three more kits" in ceiling.text
    [ask] = [ask for turn in script.turns for ask in turn.forks]
    assert ask.subject is not None
    assert "two model kits" in ask.subject.evidence


def test_what_only_the_assistant_said_has_no_controls() -> None:
    script = script_of(imported("longmemeval", SAMPLES / "longmemeval_oracle.json")["longmemeval-syn_0004"])
    assert script.controls == ()


def test_longmemeval_turns_keeps_the_evidence() -> None:
    scenarios = imported("longmemeval", SAMPLES / "longmemeval_oracle.json", turns=4)
    first = scenarios["longmemeval-syn_0001"]
    assert first.session.turns == 4
    assert any("Border Terrier" in fact.values[0] for fact in first.facts)


def test_locomo_lines_come_in_order_of_sessions_with_date_and_speaker() -> None:
    [scenario] = imported("locomo", SAMPLES / "locomo10.json").values()
    said = [turn.user for turn in script_of(scenario).turns]
    assert said[0] == "[1:56 pm on 8 May, 2023] Ana: Hey Bo! How are you?"
    assert said[5] == (
        "[6:10 pm on 3 June, 2023] Bo: Look at my view. [shares a picture: a photo of a river and a bridge]"
    )
    assert said[-1] == "[9:00 am on 1 July, 2023] Bo: Well done!"  # session 10 after session 2
    probes = {probe.id: probe for probe in scenario.probes}
    assert probes["question-3"].check.model_dump()["values"] == ("cello", "flute")  # type: ignore[union-attr]
    assert probes["question-4"].facts == ("D2.2", "D10.3")
    assert probes["question-5"].check.model_dump()["invented"] == ("Bach",)  # type: ignore[union-attr]


def test_what_is_left_out_is_counted_by_reason() -> None:
    found = REGISTRY["locomo"].read(SAMPLES / "locomo10.json", judged=False, questions="2")
    assert found.left_out == {
        "questions that only a judge model can grade (--no-judged)": 1,
        "questions whose evidence is not in the dialogue, or comes after --turns": 1,
        "questions that name no evidence": 1,
    }
    assert len(found.scenarios[0]["probes"]) == 2
    with pytest.raises(NothingMatchedError, match="3 × questions that only a judge model can grade"):
        REGISTRY["multichallenge"].read(SAMPLES / "benchmark_questions.jsonl", judged=False)


def test_multichallenge_asks_the_last_turn_and_judges_by_its_criterion() -> None:
    scenarios = imported("multichallenge", SAMPLES / "benchmark_questions.jsonl")
    assert list(scenarios) == ["multichallenge-syn01", "multichallenge-syn02", "multichallenge-syn03"]
    script = script_of(scenarios["multichallenge-syn02"])
    [ask] = script.turns[-1].forks
    assert ask.text == "Suggest a dessert."
    assert ask.check.model_dump()["rubric"] == (
        "Asked of the reply, the right answer to this question is NO: Does the response suggest a dessert with nuts?"
    )
    [ceiling] = [control for control in script.controls if control.kind == "ceiling"]
    assert ceiling.text == "I am allergic to nuts.\n\nSuggest a dessert."
    assert script_of(scenarios["multichallenge-syn03"]).controls == ()  # it rests on what the assistant said


@pytest.mark.parametrize("file", sorted((SAMPLES / "sequor").rglob("*.jsonl")), ids=lambda file: file.parts[-3])
def test_sequor_turns_are_its_prompts_byte_for_byte(file: Path) -> None:
    [scenario] = imported("sequor", file).values()
    prompts = [json.loads(line)["prompt"] for line in file.read_text(encoding="utf-8").splitlines()]
    assert [turn.user for turn in script_of(scenario).turns] == prompts


def test_sequor_rules_that_stay_are_checked_on_every_reply_and_replaced_ones_until_they_end() -> None:
    scenarios = imported("sequor", SAMPLES / "sequor")
    assert list(scenarios) == [
        "sequor-add.step_size_4-conversation_2_1",
        "sequor-replace.step_size_4-conversation_10_1",
        "sequor-tuples-conversation_1_1",
    ]
    added, replaced, together = map(script_of, scenarios.values())
    assert [(p.subject.turn, p.check.type_name) for p in added.passive] == [
        (1, "count"),
        (5, "starts_with"),
        (9, "judge"),
    ]
    asked = {turn.turn: turn.inline for turn in replaced.turns if turn.inline}
    assert {turn: ask.check.type_name for turn, ask in asked.items()} == {
        2: "count", 3: "count", 4: "count", 6: "starts_with", 7: "starts_with", 8: "starts_with",
        10: "language", 11: "language", 12: "language",
    }  # fmt: skip
    [rule] = together.passive
    assert [part.type_name for part in rule.check.parts()] == ["count", "ends_with"]


def test_sequor_without_a_judge_still_says_the_rule_that_nobody_grades() -> None:
    scenario = imported("sequor", SAMPLES / "sequor" / "add", judged=False)["sequor-step_size_4-conversation_2_1"]
    assert [rule.id for rule in scenario.constraints] == ["syn-1-turn-1", "syn-2-turn-5"]
    assert "Sound like a cheerful neighbour" in script_of(scenario).turns[8].user


def test_long_histories_go_to_a_transcript_beside_the_scenario(tmp_path: Path) -> None:
    messages = [
        {"role": role, "content": f"{role} {n} " + "word " * 200} for n in range(150) for role in ("user", "assistant")
    ]
    messages[0] |= {"content": "My cat is called Pixel.", "has_answer": True}
    row = {"question_id": "long", "question_type": "single-session-user", "question": "What is my cat called?",
           "answer": "Pixel", "haystack_sessions": [messages]}  # fmt: skip
    (tmp_path / "m.json").write_text(json.dumps([row]), encoding="utf-8")
    [raw] = REGISTRY["longmemeval"].read(tmp_path / "m.json").scenarios
    path = write(raw, tmp_path / "out")
    assert path.stat().st_size < 10_000
    said = [turn.user for turn in script_of(load_scenario(path)).turns]
    assert said == [message["content"] for message in messages if message["role"] == "user"]


@pytest.mark.parametrize("name", sorted(REGISTRY))
@pytest.mark.parametrize(
    ("content", "said"),
    [("{", "this is not JSON"), ('[{"a": 1}]', "has no `"), ("[1]", "is not a JSON object"), ("", "nothing could be")],
)
def test_a_file_of_another_format_is_a_sentence(name: str, content: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "BFCL_v4_multi_turn_base.json"
    path.write_text(content, encoding="utf-8")
    (tmp_path / "possible_answer").mkdir()
    (tmp_path / "possible_answer" / path.name).write_text("", encoding="utf-8")
    with pytest.raises((ConfigError, NothingMatchedError)) as error:
        REGISTRY[name].read(path)
    assert said in str(error.value)
    assert name in str(error.value) or str(path) in str(error.value)


@cases
def test_data_of_another_shape_is_a_sentence_wherever_it_is_wrong(name: str, path: Path, tmp_path: Path) -> None:
    """Each value of the first entry in turn is put out of shape; what comes of it is a scenario or a sentence."""
    file = next(iter(sorted(path.rglob("*.jsonl")))) if path.is_dir() else path
    text = file.read_text(encoding="utf-8")
    rows = json.loads(text) if text.startswith("[") else [json.loads(line) for line in text.splitlines()]
    folder = tmp_path / "data"
    shutil.copytree(file.parent, folder, ignore=lambda at, names: [n for n in names if n.endswith(".yaml")])
    for number, broken in enumerate(islice(broken_copies(rows[0]), 0, 600, 5)):
        (folder / file.name).write_text(json.dumps(broken) + "\n", encoding="utf-8")
        with suppress(ContextrotError):  # anything else is a traceback on somebody's terminal
            for raw in REGISTRY[name].read(folder / file.name).scenarios:
                write(raw, tmp_path / str(number))


def broken_copies(row: Any) -> Iterator[Any]:
    """The data with one value after another replaced by one of another kind."""
    for place in places(row):
        for value in (None, 7, "x", [], {}, [[1]]):
            copied = json.loads(json.dumps(row))
            inner = copied
            for key in place[:-1]:
                inner = inner[key]
            inner[place[-1]] = value
            yield copied


def places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in inner:
        yield (*above, key)
        yield from places(child, (*above, key))


def test_names_and_options_that_do_not_exist_are_sentences() -> None:
    with pytest.raises(ConfigError, match="no public task `mteval`; did you mean `mt-eval`"):
        task("mteval")
    with pytest.raises(ConfigError, match="no option `taks`; did you mean `task`"):
        task("mt-eval").read(SAMPLES / "refinement_multi.jsonl", taks="cls")
    with pytest.raises(ConfigError, match="`task` must be all or global-inst or cls or refinement, not `x`"):
        task("mt-eval").read(SAMPLES / "refinement_multi.jsonl", task="x")
    with pytest.raises(ConfigError, match=r"nowhere\.json: there is no such file"):
        task("locomo").read("nowhere.json")
    with pytest.raises(ConfigError, match=r"locomo needs PATH: locomo10\.json"):
        task("locomo").read()


def test_a_scenario_the_loader_refuses_leaves_nothing_behind(tmp_path: Path) -> None:
    raw = {"contextrot": 1, "id": "bad", "session": {"turns": 1}}
    with pytest.raises(ScenarioError, match="nothing is tested"):
        write(raw, tmp_path)
    assert list(tmp_path.iterdir()) == []
