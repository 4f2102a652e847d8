"""State extraction: when the helper is asked, what it may answer, and what stays when it answers badly."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from histories import Helper, Said, Session, histories
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextrot.errors import ConfigError
from contextrot.messages import Message, Reply, ToolCall, assistant, system, tool_result, user
from contextrot.outcomes import Status
from contextrot.strategies import View, describe, load_strategy, strategy_label
from contextrot.strategies.condensing import Progress
from contextrot.strategies.state_extraction import HEADER

CONFIG = {"type": "state_extraction"}
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}


class Answers(Helper):
    """Answers with the given texts in turn, the last one for ever."""

    def __init__(self, *texts: str) -> None:
        super().__init__()
        self.texts = list(texts)

    async def ask(self, messages: Sequence[Message], *, max_tokens: int, purpose: str) -> Reply:
        self.asks.append("\n".join(message.text for message in messages))
        return Reply(self.texts.pop(0) if len(self.texts) > 1 else self.texts[0], finish_reason="stop")


def state(info: str = "x", **more: Any) -> str:
    base = {"task_status": "in_progress", "collected_info": {"i": info}, "decisions_made": [], "open_questions": []}
    return json.dumps(base | more)


def chat(turns: int, words: int = 20) -> list[Said]:
    said = [Said(system("rules"), False)]
    for turn in range(1, turns + 1):
        said.append(Said(user(f"ask-{turn} " + "word " * words), True))
        said.append(Said(assistant(f"answer-{turn} " + "word " * words), False))
    return said[:-1]


def run_of(*answers: str, window: int = 2000, **options: Any) -> Session:
    return Session(load_strategy(CONFIG | options), window=window, helper=Answers(*answers))


def last(run: Session, history: list[Said]) -> View:
    view = run.run(history)[-1].view
    assert view is not None
    return view


def test_the_state_then_the_last_turns() -> None:
    view = last(run_of(state("BLUE-42")), chat(5))
    assert view.sources == (0, None, 7, 8, 9)
    assert view.messages[1] == user(f"{HEADER}\n{state('BLUE-42')}")
    assert view.manifest.counts() == {"verbatim": 4, "summarised": 6}


def test_the_helper_is_asked_once_a_turn_with_the_previous_state_and_the_latest_exchange() -> None:
    run = run_of(state("one"), state("two"))
    asks = [step.asks for step in run.run(chat(4))]
    assert asks == [0, 1, 1, 1]
    assert "The notes so far" not in run.helper.asks[0]
    assert state("one") in run.helper.asks[1]
    assert "ask-1 " not in run.helper.asks[1]
    assert "[user]\nask-2 " in run.helper.asks[1]
    assert "[assistant]\nanswer-2 " in run.helper.asks[1]


def test_nothing_is_asked_again_within_a_turn() -> None:
    run = run_of(state())
    run.run(chat(2))
    for k in range(3):
        call = Said(assistant(None, [ToolCall(f"c{k}", "look")]), False)
        [step] = run.run([call, Said(tool_result(f"c{k}", "found"), True)])
        assert step.asks == 0


def test_every_n_turns() -> None:
    run = run_of(state(), every_n_turns=3)
    steps = run.run(chat(8))
    assert [step.asks for step in steps] == [0, 0, 0, 1, 0, 0, 1, 0]
    # what is not in the state yet stays, beyond `keep`
    assert [step.view.manifest.counts().get("dropped", 0) for step in steps if step.view] == [0] * 8


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("the state is fine", "not one JSON value"),
        ('{"task_status": "in_progress"}', "required property"),
        (state(task_status="done"), "'done' is not one of"),
        (state(mood="good"), "'mood' was unexpected"),
        (state("word " * 500), "over its cap"),
    ],
)
def test_a_bad_state_is_rejected_and_the_previous_one_stays(answer: str, reason: str) -> None:
    run = run_of(state("first"), answer)
    view = last(run, chat(4))
    assert view.messages[1].text == f"{HEADER}\n{state('first')}"
    assert [reason in event.detail["reason"] for event in view.events if event.name == "summary_rejected"] == [True] * 3
    assert view.manifest.counts() == {"verbatim": 6, "summarised": 2}  # turns 2 and 3 are pending, in view
    assert run.state["failures"] == 2


def test_what_was_pending_is_extracted_when_the_helper_recovers() -> None:
    run = run_of("no", "no", "no", state("all of it"))
    view = last(run, chat(3))
    assert "ask-1 " in run.helper.asks[-1]
    assert "ask-2 " in run.helper.asks[-1]
    assert view.messages[1].text == f"{HEADER}\n{state('all of it')}"


def test_after_three_failures_it_goes_on_as_fifo() -> None:
    run = run_of("no", window=400)
    steps = run.run(chat(12))
    assert [step.asks for step in steps if step.asks] == [3, 3, 3]
    view = steps[-1].view
    assert view is not None
    assert [event.name for event in view.events] == ["fallback"]
    assert view.manifest.counts()["dropped"] > 0


def test_a_turn_that_outgrows_the_budget_is_extracted_while_it_lasts() -> None:
    run = run_of(state("so far"), window=900, keep={"messages": 3})
    run.run([Said(system("rules"), False), Said(user("task"), True)])
    asks = 0
    for k in range(8):
        call = Said(assistant(None, [ToolCall(f"c{k}", "look")]), False)
        [step] = run.run([call, Said(tool_result(f"c{k}", f"result-{k} " + "word " * 200), True)])
        assert step.view is not None
        assert "dropped" not in step.view.manifest.counts()
        asks += step.asks
    assert 1 <= asks <= 7
    assert "result-0" in run.helper.asks[0]


def test_a_schema_of_ones_own() -> None:
    run = run_of('{"city": "Oslo"}', schema=SCHEMA)
    assert last(run, chat(3)).messages[1].text == f'{HEADER}\n{{"city": "Oslo"}}'
    assert json.dumps(SCHEMA) in run.helper.asks[0]
    assert "task_status" not in run.helper.asks[0]


def test_a_schema_is_checked_when_it_is_loaded() -> None:
    with pytest.raises(ConfigError, match=r"schema.*no valid JSON Schema"):
        load_strategy(CONFIG | {"schema": {"type": "objekt"}})
    with pytest.raises(ConfigError, match="unknown keyword `propertys`"):
        load_strategy(CONFIG | {"schema": {"propertys": {}}})
    with pytest.raises(ConfigError, match="did you mean 'schema'"):
        load_strategy(CONFIG | {"shema": {}})


def test_a_schema_reads_back_under_its_name() -> None:
    strategy = load_strategy(CONFIG | {"schema": SCHEMA})
    assert strategy.model_dump(mode="json")["schema"] == SCHEMA
    assert load_strategy(strategy.model_dump(mode="json", exclude_unset=True) | CONFIG) == strategy
    assert strategy_label(strategy).startswith("state_extraction(schema=")
    [row] = [row for row in describe() if row["name"] == "state_extraction"]
    [schema] = [parameter for parameter in row["parameters"] if parameter["name"] == "schema"]
    assert (schema["type"], schema["default"]) == ("mapping | none", "none")


examples = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


@given(
    history=histories(),
    window=st.sampled_from((60, 150, 400, 900, 4000)),
    mood=st.sampled_from(("good", "empty", "huge", "error", "flaky")),
    every=st.integers(1, 3),
)
@examples
def test_what_was_not_seen_stays_pending_and_is_dropped_only_for_want_of_room(
    history: list[Said], window: int, mood: str, every: int
) -> None:
    run = Session(load_strategy(CONFIG | {"every_n_turns": every}), window=window, helper=Helper(mood))
    for said in history:
        run.add(said)
        view = run.view().view if said.asks else None
        if view is None:
            continue
        progress = Progress.read(run.state)
        pending = set(progress.pending(run.log)) | set(run.log.always)
        for index, status in enumerate(view.manifest):
            seen = any(run.log[index].message.text.split(" ")[0] in prompt for prompt in run.helper.taken)
            number = run.log.unit_of(index)
            assert seen or number in pending
            assert status is not Status.SUMMARISED or seen
        dropped = [i for i, status in enumerate(view.manifest) if status is Status.DROPPED]
        left_out = {event.name for event in view.events} & {"fallback", "state_left_out"}
        assert not dropped or left_out
        assert dropped or "fallback" not in left_out
