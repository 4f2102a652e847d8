"""The whole way on a real run with a simulated model: the session loop writes, the reports read."""

from __future__ import annotations

import io
import shlex
from hashlib import blake2b
from pathlib import Path

import pytest
from rich.console import Console

from contextrot.analysis.replay_view import read_transcript, view_messages
from contextrot.api import bench
from contextrot.messages import Message
from contextrot.report import words
from contextrot.report.findings import next_step
from contextrot.report.show import show_session
from contextrot.report.write import write_report

SCENARIO = Path(__file__).parents[2] / "scenarios" / "standard" / "pinned-fact-recall.yaml"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return bench(
        SCENARIO,
        models=["sim/perfect"],
        strategies=["fifo", "pinned", "rolling_summary"],
        repeats=2,
        window=1500,
        out=tmp_path_factory.mktemp("real") / "run",
    )


def test_every_view_rebuilt_from_the_record_is_the_one_that_was_sent(run):
    calls = 0
    for path in (run.path / "sessions").glob("*.jsonl"):
        for record in read_transcript(path).records:
            if record["t"] != "call":
                continue
            calls += 1
            hasher = blake2b(digest_size=12)
            for message in view_messages(path, record["n"]):
                hasher.update(Message.from_dict(message).digest)
            assert hasher.hexdigest() == record["view"]["hash"], (path.name, record["n"])
    assert calls == len(run.turns) > 100


def test_a_model_that_obeys_what_it_reads_fails_only_where_the_fact_is_lost(run):
    groups = {group.strategy: group for group in run.summary.groups}
    assert groups["pinned"].causes["fails"] == 0
    assert groups["pinned"].length.median is None
    assert groups["fifo"].causes["lost"] == groups["fifo"].causes["fails"] > 0
    assert groups["rolling_summary"].compactions > 0
    assert groups["rolling_summary"].spent.aux_calls > 0


def test_the_report_says_so(run, tmp_path):
    write_report(run, out=tmp_path)
    text = (tmp_path / "report.md").read_text("utf-8")
    assert words.SIMULATED in text
    assert "- `pinned` kept `project-code` and `release-city` in 2 of 2 sessions through turn 40." in text
    assert (
        "`fifo` lost `project-code` or `release-city` in 2 of 2 sessions" in text
        or "`fifo` lost `project-code`" in text
    )


def test_the_command_it_names_next_shows_the_failure(run):
    command, what = next_step(run.summary, run.path)
    _, _, folder, session, _, turn = shlex.split(command)
    out = io.StringIO()
    show_session(folder, session, turn=int(turn), console=Console(file=out, width=120))
    assert what == "the first failure of `fifo` in `pinned-fact-recall`"
    assert "sent, stated" in out.getvalue()
    assert "fail" in out.getvalue()
