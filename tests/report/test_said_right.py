"""What the reports say where something could be misread: whose figure it is, what came, and why nothing was decided."""

from __future__ import annotations

import io
import re
from itertools import pairwise

import pytest
from rich.console import Console
from run_writer import SessionWriter, write_controls, write_manifest, write_session

from contextrot.analysis.summary import summarise
from contextrot.analysis.tables import load_run
from contextrot.report import markdown, words
from contextrot.report.show import show_session
from contextrot.report.terminal import print_summary

MODELS = [{"label": name, "id": f"sim/{name}", "simulated": True, "own_memory": False} for name in ("zoe", "abe")]


def screen(folder, width: int = 200) -> str:
    out = io.StringIO()
    print_summary(summarise(load_run(folder)), Console(file=out, width=width))
    return out.getvalue()


def in_words(text: str) -> str:
    return " ".join(text.split())


def grid(folder, models=MODELS):
    """Two arms (fork, inline) × two turns for each model; the second model loses the fact when it is asked inline."""
    cells = [f"g.turns-{turns}.{mode}" for turns in (12, 24) for mode in ("fork", "inline")]
    write_manifest(folder, models=models, strategies=["full"], scenarios=[{"id": cell, "title": ""} for cell in cells])
    for cell in cells:
        for number, model in enumerate(models):
            for repeat in range(2):
                lost = 9 if number and cell.endswith("inline") else None
                write_session(folder, "full", repeat, scenario=cell, family="g", model=model["label"], lost_from=lost)
    return folder


def test_pairs_of_a_grid_name_their_model_in_the_order_of_the_table(tmp_path):
    text = in_words(screen(grid(tmp_path)))
    pairs = re.findall(r"inline against fork \(mode\), `full` on `(\w+)`: (\d+ %) → (\d+ %)", text)
    assert pairs == [("zoe", "100 %", "100 %"), ("abe", "100 %", "25 %")]


def test_with_one_model_the_pairs_do_not_name_it(tmp_path):
    text = in_words(screen(grid(tmp_path, MODELS[:1])))
    assert "inline against fork (mode), `full`: 100 % → 100 %" in text


def test_a_grid_of_two_models_is_readable_at_80_columns(tmp_path):
    text = screen(grid(tmp_path), 80)
    lines = [line.strip() for line in text.splitlines()]
    assert [line for line in lines if line in ("zoe", "abe")] == ["zoe", "abe"]
    rows = [index for index, line in enumerate(lines) if re.match(r"\d+ +(fork|inline)", line)]
    assert len(rows) == 8
    assert all(later - row <= 3 for row, later in pairwise(rows[:4]))
    assert "model" in screen(grid(tmp_path / "wide"), 200).split("turns", 1)[1]


def test_notes_stand_under_the_model_they_are_of(tmp_path):
    write_manifest(tmp_path / "two", models=MODELS)
    for model in MODELS:
        write_session(tmp_path / "two", "full", 0, model=model["label"], ends=("overflow", 18))
    for name, text in zip(("zoe", "abe"), screen(tmp_path / "two", 80).split("\nabe"), strict=True):
        assert name == "abe" or "\nzoe" in text
        assert "  full: overflow 1 of 1" in text
    write_manifest(tmp_path / "one")
    write_session(tmp_path / "one", "full", 0, ends=("overflow", 18))
    assert "  full: overflow 1 of 1" in screen(tmp_path / "one", 80)


def lengths(tmp_path, *ends) -> str:
    write_manifest(tmp_path)
    for repeat, (lost, end) in enumerate(ends):
        write_session(tmp_path, "full", repeat, lost_from=lost, ends=("overflow" if end < 24 else "completed", end))
    [group] = summarise(load_run(tmp_path)).groups
    return words.length_text(group)


def test_a_length_says_how_many_of_its_ends_were_overflow(tmp_path):
    mixed = lengths(tmp_path / "mixed", (12, 24), (None, 18), (None, 18), (None, 18))
    assert mixed.startswith("18 turns (")
    assert mixed.endswith("; 1 failed, 3 overflow")
    for width in (80, 200):
        assert "1 failed, 3 overflow" in in_words(screen(tmp_path / "mixed", width))
    failed = lengths(tmp_path / "failed", (12, 24), (12, 24), (12, 24))
    assert "failed" not in failed
    assert lengths(tmp_path / "over", (None, 18), (None, 18), (None, 18)).startswith("overflow at 18")


def test_a_session_that_overflows_has_reached_every_level(tmp_path):
    write_manifest(tmp_path)
    write_session(tmp_path, "full", 0, ends=("overflow", 18))
    write_session(tmp_path, "full", 1)
    [group] = summarise(load_run(tmp_path)).groups
    assert [(level.level, level.sessions, level.median_turn) for level in group.levels] == [
        ("WARN", 1, 18.0),
        ("ROTATE", 1, 18.0),
    ]


def test_the_turn_the_monitor_spoke_at_stays(tmp_path):
    write_manifest(tmp_path)
    writer = write_session(tmp_path, "full", 0, ends=("overflow", 18))
    lines = writer.path.read_bytes().splitlines(keepends=True)
    writer.path.write_bytes(b"".join(lines[:-1]))
    writer.event(9, "budget_level", **{"from": "OK", "to": "WARN", "occupancy": 0.6})
    writer.end(18, "overflow")
    [group] = summarise(load_run(tmp_path)).groups
    assert [level.median_turn for level in group.levels] == [9.0, 18.0]


def test_the_number_of_checks_is_that_of_the_checks(tmp_path):
    write_manifest(tmp_path)
    writer = write_session(tmp_path, "full", 0)
    for number in range(5):  # five more checks of three more rules
        writer.verdict(24, "pass", id=f"check-{number}", subject=f"rule-{number % 3}", kind="probe")
    writer.verdict(24, "inconclusive", id="unclear", subject="rule-9")
    assert "`full` passed all 6 checks in 1 of 1 sessions" in in_words(screen(tmp_path))


def broken(tmp_path, reason: str):
    write_manifest(tmp_path)
    session = SessionWriter(tmp_path, "full-0", strategy="full")
    session.say(1, "Ticket.")
    session.reply(1, session.call(1))
    session.verdict(1, "error", check="python", reason=reason)
    session.end(24)
    return tmp_path


def test_why_a_check_could_not_decide_is_said(tmp_path):
    run = broken(tmp_path, "mine.py:ok raised KeyError: 'x'")
    text = in_words(screen(run))
    assert "a check could not decide (1 time), check `code`: mine.py:ok raised KeyError: 'x'" in text
    summary = summarise(load_run(run))
    assert "mine.py:ok raised KeyError" in markdown.render(summary).replace("\\", "")
    assert "raised KeyError" in summary.why_nothing


def test_nothing_is_said_of_checks_that_decide(tmp_path):
    write_manifest(tmp_path)
    write_session(tmp_path, "full", 0, lost_from=9)
    assert "could not decide" not in screen(tmp_path)


def test_the_list_says_where_nothing_was_checked(tmp_path):
    run = broken(tmp_path, "no")
    write_session(run, "full", 1)
    out = io.StringIO()
    show_session(run, console=Console(file=out, width=200))
    text = in_words(out.getvalue())
    assert text.count("– – nothing checked") == 1
    assert text.count("24 – nothing") == 1


@pytest.mark.parametrize(
    ("check", "sentence"), [("python", "give the check `passes:`"), ("recall", "beyond the model")]
)
def test_a_python_check_without_an_example_is_not_called_beyond_a_simulated_model(tmp_path, check, sentence):
    write_manifest(tmp_path, models=[{"label": "sim", "id": "sim/perfect", "simulated": True, "own_memory": False}])
    writer = write_session(tmp_path, "full", 0, model="sim")
    writer.path.write_bytes(writer.path.read_bytes().replace(b'"check":"recall"', f'"check":"{check}"'.encode()))
    write_controls(tmp_path, ceiling=("fail",) * 3, floor=("fail",) * 3, model="sim")
    text = in_words(screen(tmp_path))
    assert sentence in text
    assert ("beyond the model" in text) == (check == "recall")
    report = markdown.render(summarise(load_run(tmp_path)))
    assert ("a simulated model needs `passes:`" in report) == (check == "python")


def test_what_is_hardly_anything_is_not_rounded_to_nothing():
    assert words.percent(0.003) == "< 1 %"
    assert words.percent(0.0) == "0 %"
    assert words.percent(-0.003) == "0 %"
    assert words.points(0.003) == "+0.3"
    assert words.points(-0.003) == "−0.3"
    assert words.points(0.0) == "0"


def test_the_words_explain_what_the_tables_say():
    assert "undecided" in words.DEFINITIONS["overflow"]
    assert "event" in words.DEFINITIONS["overflow"]
    assert "unattributed" in words.DEFINITIONS
