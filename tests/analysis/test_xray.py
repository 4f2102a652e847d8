"""The X-ray says where each rule and fact stood in every call, and why the first check failed."""

from __future__ import annotations

import pytest
from run_writer import SessionWriter, write_manifest

import contextrot as cr
from contextrot.analysis.replay_view import read_transcript
from contextrot.analysis.standings import status_of
from contextrot.analysis.tables import load_run
from contextrot.analysis.xray import causes_by_session, xray

RULE = "Answer in JSON only."
FACT = "For later: our project code is {}."


def view(*manifest, made=()):
    """A view whose ranges are what its manifest calls verbatim or retrieved."""
    ranges = [[start, end] for status, start, end in manifest if status in ("verbatim", "retrieved")]
    return {"ranges": ranges, "made": list(made), "manifest": [list(run) for run in manifest], "tokens": 9, "hash": "x"}


class Session:
    """A session written turn by turn: `ask` says what the view was and how the probe for the fact ended."""

    def __init__(self, folder, **head):
        self.writer = SessionWriter(folder, "s", **head)
        self.writer.say(0, "You are a careful assistant.", origin="system", role="system")

    def turn(self, turn, text="Ordinary work.", origin="filler", sent=None):
        self.writer.say(turn, text, origin=origin)
        call = self.writer.call(turn, **({} if sent is None else {"view": sent}))
        self.writer.reply(turn, call)
        return call

    def ask(self, turn, outcome, sent, *, since, **verdict):
        branch = f"code@{turn}"
        self.writer.say(turn, "What is our project code?", origin="probe", branch=branch)
        call = self.writer.call(turn, branch=branch, view=sent)
        self.writer.verdict(turn, outcome, branch=branch, call=call, since_turns=since, **verdict)

    def read(self, ended="completed", turn=9, detail=""):
        if ended:
            self.writer.end(turn, ended, detail)
        return read_transcript(self.writer.path)


def test_an_answer_that_rests_on_several_facts_is_not_put_down_to_the_first_alone(tmp_path):
    session = Session(tmp_path)
    session.turn(1, FACT.format("TEAL-7"), "fact")  # call 0
    session.ask(2, "pass", view(("verbatim", 0, 4)), since=1, check="recall_list")  # call 1
    session.ask(4, "fail", view(("verbatim", 0, 1), ("dropped", 1, 3), ("verbatim", 3, 4)), since=3,
                cause="lost", in_view=False, check="recall_list", reason="1 of 2 items")  # fmt: skip
    picture = xray(session.read())
    assert "lost: not all it rests on was sent; the first of its facts was last sent at turn 2 (call 1)" in picture.why
    assert "the fact was" not in picture.why


def test_a_fact_that_left_the_window_is_told_with_the_call_that_last_had_it(tmp_path):
    session = Session(tmp_path)
    session.turn(1, FACT.format("TEAL-7"), "fact")  # call 0
    session.ask(2, "pass", view(("verbatim", 0, 4)), since=1)  # call 1
    session.turn(3, sent=view(("verbatim", 0, 1), ("dropped", 1, 3), ("verbatim", 3, 4)))  # call 2
    session.ask(4, "fail", view(("verbatim", 0, 1), ("dropped", 1, 3), ("verbatim", 3, 6)), since=3,
                cause="lost", in_view=False, reason="the reply does not say 'TEAL-7'")  # fmt: skip
    picture = xray(session.read())
    (standing,) = picture.standings
    assert picture.columns == (0, 1, 2, 3)
    assert (standing.id, standing.kind, standing.versions) == ("project-code", "fact", ((1, 1),))
    assert standing.cells == ("verbatim", "verbatim", "dropped", "dropped")
    assert standing.words == "Stated at turn 1; verbatim at turns 1–2, dropped at turns 3–4."
    assert (picture.failed_turn, picture.failed_call) == (4, 3)
    assert picture.why == (
        "Failed first at turn 4: code (project-code), lost: the fact was last sent at turn 2 (call 1), dropped since. "
        "The check says: the reply does not say 'TEAL-7'."
    )


def test_a_fact_that_stood_in_the_prompt_was_ignored_and_how_far_back_it_stood_is_said(tmp_path):
    session = Session(tmp_path)
    session.turn(1, FACT.format("TEAL-7"), "fact")
    session.ask(8, "fail", view(("verbatim", 0, 4)), since=7, since_tokens=1204, cause="ignored")
    assert xray(session.read()).why == (
        "Failed first at turn 8: code (project-code), ignored: the fact stood in the prompt, verbatim, "
        "7 turns and 1,204 tokens after it was stated."
    )


def test_a_statement_that_a_made_message_repeats_stands_elsewhere(tmp_path):
    again = [1, {"role": "user", "content": "[Standing statements]\nFor later:   our project code\nis TEAL-7.\n"}]
    other = [1, {"role": "user", "content": "[Summary] A code was given."}]
    session = Session(tmp_path)
    session.turn(1, FACT.format("TEAL-7"), "fact")
    session.turn(2, sent=view(("verbatim", 0, 1), ("dropped", 1, 3), ("verbatim", 3, 4), made=[again]))
    session.turn(3, sent=view(("verbatim", 0, 1), ("dropped", 1, 5), ("verbatim", 5, 6), made=[other]))
    session.ask(4, "pass", view(("verbatim", 0, 1), ("summarised", 1, 7), ("verbatim", 7, 8), made=[other]), since=3)
    (standing,) = xray(session.read()).standings
    # The last was checked: the value stood in what was sent, though the statement's own words did not.
    assert standing.cells == ("verbatim", "elsewhere", "dropped", "elsewhere")


def test_a_changed_fact_keeps_its_older_values_although_no_probe_asked_for_them(tmp_path):
    session = Session(tmp_path)
    session.turn(1, FACT.format("TEAL-7"), "fact")
    session.turn(2, "The office moves to a new building in the spring.", "fact")
    session.turn(3, "For later: our project code is said to be RUST-9.", "distractor")
    session.turn(5, FACT.format("BLUE-42"), "fact")
    session.ask(6, "pass", view(("verbatim", 0, 1), ("dropped", 1, 7), ("verbatim", 7, 10)), since=1)
    (standing,) = xray(session.read()).standings
    assert standing.versions == ((1, 1), (5, 7))
    assert standing.cells[-1] == "verbatim"  # of the newest value
    assert standing.words.startswith("Stated at turn 1, changed at turn 5; verbatim")


def test_a_rule_of_the_system_prompt_stands_where_that_stands(tmp_path):
    session = Session(tmp_path)
    for turn in (1, 2):
        call = session.turn(turn)
        session.writer.verdict(turn, "pass" if turn == 1 else "fail", branch=None, kind="passive", id="json-reply",
                               call=call, subject="json-reply", since_turns=turn, cause="ignored")  # fmt: skip
    picture = xray(session.read())
    (standing,) = picture.standings
    assert (standing.kind, standing.versions, standing.cells) == ("constraint", ((0, 0),), ("verbatim", "verbatim"))
    assert standing.words == "Stated in the system prompt; verbatim in every call since."
    assert "json-reply, ignored: the rule stood in the prompt, verbatim, 2 turns" in picture.why


def test_what_the_fresh_session_asks_says_nothing_about_where_a_fact_will_be_said(tmp_path):
    session = Session(tmp_path)
    session.ask(0, "pass", view(("verbatim", 0, 2)), since=0)
    session.turn(3, FACT.format("TEAL-7"), "fact")
    session.ask(4, "pass", view(("verbatim", 0, 4)), since=1)
    (standing,) = xray(session.read()).standings
    assert standing.versions == ((3, 1),)
    assert standing.cells == ("question", "verbatim", "verbatim")


def test_a_fact_that_was_sent_without_all_it_needs_is_incomplete(tmp_path):
    session = Session(tmp_path)
    session.turn(1, FACT.format("TEAL-7"), "fact")
    session.ask(2, "fail", view(("verbatim", 0, 4)), since=1, in_view=False, cause="lost")
    picture = xray(session.read())
    assert picture.standings[0].cells[-1] == "incomplete"
    assert "lost: the fact was sent, but not all that the answer rests on" in picture.why


def test_final_causes_go_before_recorded_ones(tmp_path):
    session = Session(tmp_path)
    session.turn(1, FACT.format("TEAL-7"), "fact")
    session.ask(2, "fail", view(("verbatim", 0, 4)), since=1, cause="ignored")
    transcript = session.read()
    assert "ignored: " in xray(transcript).why
    assert "incapable: the model fails this in a fresh session as well" in (
        xray(transcript, {(2, 1, "probe", "code"): "incapable"}).why
    )


@pytest.mark.parametrize(
    ("ended", "said"),
    [
        ("overflow", "It ended at turn 9: the prompt no longer fitted the window."),
        ("over_budget", "It ended at turn 9: the strategy could not fit what must stay."),
        ("error", "It ended at turn 9: an error stopped it."),
        ("", "The session has not come to its end."),
    ],
)
def test_how_a_session_broke_off_is_said(tmp_path, ended, said):
    session = Session(tmp_path)
    session.turn(1, FACT.format("TEAL-7"), "fact")
    session.ask(2, "pass", view(("verbatim", 0, 4)), since=1)
    assert xray(session.read(ended)).why == f"Nothing failed: 1 check passed, the last at turn 2. {said}"


def test_checks_that_were_not_decided_are_told_beside_those_that_passed(tmp_path):
    session = Session(tmp_path)
    session.turn(1, FACT.format("TEAL-7"), "fact")
    session.ask(2, "pass", view(("verbatim", 0, 4)), since=1)
    for turn in (3, 4):
        session.ask(turn, "truncated", view(("verbatim", 0, 4)), since=turn - 1)
    session.writer.verdict(9, "not_run", call=None)
    assert xray(session.read()).why == (
        "Nothing failed: 1 check passed, the last at turn 2. 2 were undecided: truncated at turns 3, 4."
    )


def test_an_agent_with_its_own_memory_leaves_open_what_it_was_sent(tmp_path):
    session = Session(tmp_path)
    session.turn(1, FACT.format("TEAL-7"), "fact")
    session.writer.say(3, "What is our project code?", origin="probe", branch="code@3")
    call = session.writer.call(3, branch="code@3", view=None)
    session.writer.verdict(3, "fail", call=call, since_turns=2, in_view=None)
    picture = xray(session.read())
    assert picture.standings[0].cells == ("verbatim", "unknown")
    assert "cause not known: the agent keeps its own memory" in picture.why


def test_a_control_has_no_standings_and_says_how_its_questions_went(tmp_path):
    session = Session(tmp_path, control=True)
    for kind, outcome in (("ceiling", "pass"), ("floor", "fail")):
        call = session.writer.call(0, branch=f"{kind}:code", purpose="control")
        session.writer.verdict(0, outcome, kind=kind, branch=f"{kind}:code", call=call, since_turns=None)
    picture = xray(session.read())
    assert (picture.columns, picture.standings, picture.failed_turn) == ((0, 1), (), None)
    assert picture.why == (
        "Control questions, each in a session of its own: ceiling 1 of 1 passed, floor 0 of 1 passed."
    )


def test_helpers_and_judges_are_no_columns(tmp_path):
    session = Session(tmp_path)
    messages = {"messages": [{"role": "user", "content": "Summarise."}], "hash": "h"}
    session.writer.call(1, purpose="auxiliary", view=messages)
    session.turn(1, RULE, "constraint")
    session.writer.call(1, purpose="judge", view=messages)
    assert xray(session.read()).columns == (1,)


def test_on_a_real_run_cells_are_the_manifests_and_causes_are_the_tables(tmp_path):
    cr.bench(
        "project-code",
        models=["sim/hazard?hazard=0.2"],
        strategies=[{"type": "fifo", "keep": {"turns": 4}}, {"type": "retrieval", "top_k": 1, "recent": {"turns": 2}}],
        repeats=2,
        out=tmp_path / "run",
    )
    run = load_run(tmp_path / "run")
    causes = causes_by_session(run)
    failed = run.verdicts.loc[(run.verdicts["outcome"] == "fail") & (run.verdicts["kind"] == "probe")]
    seen = set()
    for path in sorted((run.path / "sessions").glob("*.jsonl")):
        transcript = read_transcript(path)
        picture = xray(transcript, causes.get(path.stem, {}))
        for standing in picture.standings:
            assert standing.versions == ((1, 1),)
            for number, cell in zip(picture.columns, standing.cells, strict=True):
                call = transcript.call(number)
                status = status_of(call["view"], 1) if call["turn"] else None
                # In the fresh session the question states the fact; later an acknowledgement may say its value.
                allowed = {status} if status in ("verbatim", "retrieved") else {status, "elsewhere"}
                assert cell in ({"question"} if status is None else allowed), (path.stem, number)
                seen.add(cell)
        rows = failed.loc[failed["session"] == path.stem]
        if len(rows):
            first = rows.sort_values("turn").iloc[0]
            assert picture.failed_turn == first["turn"]
            assert f"at turn {first['turn']}: code (project-code), {first['cause']}: " in picture.why
    assert {"question", "verbatim", "dropped"} <= seen


def test_a_run_directory_without_sessions_has_no_causes(tmp_path):
    assert causes_by_session(load_run(write_manifest(tmp_path / "run"))) == {}
