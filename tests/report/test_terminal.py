"""The final table says what was found, at any width, and never more than was measured."""

from __future__ import annotations

import io
import shlex

import pytest
from acting import booking
from rich.console import Console
from run_writer import SessionWriter, write_controls, write_manifest, write_session

from contextrot.analysis.summary import summarise
from contextrot.analysis.tables import load_run
from contextrot.report import words
from contextrot.report.findings import next_step
from contextrot.report.show import show_session
from contextrot.report.terminal import print_summary


def screen(summary, width: int = 200, **options) -> str:
    out = io.StringIO()
    print_summary(summary, Console(file=out, width=width, **options))
    return out.getvalue()


def in_words(text: str) -> str:
    return " ".join(text.split())


def test_sentences_say_what_was_found(summary):
    text = in_words(screen(summary))
    assert "`pinned` kept `project-code` in 6 of 6 sessions through turn 24." in text
    assert "`fifo` lost `project-code` in 6 of 6 sessions, at turn 9, where it was no longer in the prompt." in text
    assert "`full` ran out of window in 6 of 6 sessions, at turn 18." in text


def test_the_table_holds_every_strategy(summary):
    rows = [line.split() for line in screen(summary).splitlines()]
    assert ["fifo", "9", "(9–9)", "0", "%", "(0–39,", "n", "24)", "lost", "36", "3.63k"] in rows
    assert any(row[:4] == ["pinned", "not", "reached", "(>"] for row in rows)


@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_nothing_is_wider_than_the_terminal(summary, width):
    assert max(map(len, screen(summary, width).splitlines())) <= width


def test_at_80_columns_no_figure_is_cut(summary):
    text = screen(summary, 80)
    assert "…" not in text
    lines = text.replace("\xa0", " ")
    for figure in ("overflow at 18", "(18–18)", "(0–39, n 24)", "lost 36", "3.63k", "not reached", "(> 24)"):
        assert figure in lines, figure


def test_without_a_terminal_there_are_no_escape_codes(summary):
    assert "\x1b" not in screen(summary)


def test_no_color_is_honoured(summary, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in screen(summary, force_terminal=True).replace("\x1b[3m", "")


def test_simulated_runs_say_so_first(summary):
    assert screen(summary).startswith("SIMULATED")


def test_real_runs_do_not_say_simulated(tmp_path):
    write_manifest(tmp_path)
    write_session(tmp_path, "full", 0, simulated=False)
    assert "SIMULATED" not in screen(summarise(load_run(tmp_path)))


def test_few_sessions_are_called_an_indication(tmp_path):
    write_manifest(tmp_path)
    write_session(tmp_path, "fifo", 0, lost_from=9)
    text = in_words(screen(summarise(load_run(tmp_path))))
    assert "With 1 session per strategy this is an indication, not a measurement" in text
    assert "9 (too few)" in text


def test_ignored_and_cut_short_sessions_are_worded_as_such(tmp_path):
    write_manifest(tmp_path)
    for repeat, turn in enumerate((9, 12, 12, 12, 15)):
        write_session(tmp_path, "full", repeat, ignored_from=turn)
    write_session(tmp_path, "full", 5, ends=("error", 8))
    text = in_words(screen(summarise(load_run(tmp_path))))
    assert "ignored `project-code` in 5 of 6 sessions, first between turns 9 and 15, although it was in" in text
    assert "in the prompt; was cut short before anything failed in 1 of 6 sessions" in text
    assert "kept" not in text  # of a session that did not come to its end nobody knows
    assert "error 1 of 6" in text


def test_what_was_kept_to_the_end_is_told_beside_what_was_cut_short(tmp_path):
    write_manifest(tmp_path)
    for repeat in range(3):
        write_session(tmp_path, "full", repeat)
    write_session(tmp_path, "full", 3, ends=("limit", 8))
    text = in_words(screen(summarise(load_run(tmp_path))))
    assert "kept `project-code` in 4 of 4 sessions as far as they went (1 cut short)" in text


def test_control_warnings_are_printed(tmp_path):
    write_manifest(tmp_path)
    write_session(tmp_path, "full", 0)
    write_controls(tmp_path, ceiling=("fail",) * 3, floor=("pass",) * 3)
    text = in_words(screen(summarise(load_run(tmp_path))))
    assert "`code` in `project-code` on `sim/perfect` tests nothing: 100 % of its floor controls pass" in text
    assert "is beyond the model: only 0 % of its ceiling controls pass" in text


def test_an_unfinished_and_an_empty_run(tmp_path):
    text = in_words(screen(summarise(load_run(write_manifest(tmp_path, status="interrupted")))))
    assert "Nothing was measured" in text
    assert "The run is interrupted" in text
    assert "cost unknown" in text


def test_a_run_of_errors_only(tmp_path):
    write_manifest(tmp_path)
    SessionWriter(tmp_path, "s").end(1, "error", "no")
    text = in_words(screen(summarise(load_run(tmp_path))))
    assert "`fifo`: nothing was measured (error 1)." in text


def test_names_with_markup_and_escapes_are_shown_as_they_are(tmp_path):
    write_manifest(tmp_path)
    write_session(tmp_path, "[red]x[/red]\x1b[2J:smile:", 0, lost_from=9)
    text = screen(summarise(load_run(tmp_path)))
    assert "\x1b" not in text
    assert "[red]x[/red]\\x1b[2J:smile:" in text


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "unknown"),
        (0, "0"),
        (850, "850"),
        (3630, "3.63k"),
        (12_000, "12.0k"),
        (999_990, "1.00M"),
        (1.2e6, "1.20M"),
    ],
)
def test_tokens(value, shown):
    assert words.tokens_text(value) == shown


@pytest.mark.parametrize(
    ("share", "shown"), [(None, "–"), (0, "0 %"), (0.001, "< 1 %"), (0.5, "50 %"), (0.999, "> 99 %"), (1, "100 %")]
)
def test_percent_does_not_round_to_all_or_nothing(share, shown):
    assert words.percent(share) == shown


@pytest.mark.parametrize(
    ("cost", "shown"), [(None, "unknown"), (0.0, "$0.00"), (0.00123, "$0.0012"), (12.345, "$12.35")]
)
def test_cost(cost, shown):
    assert words.cost_text(cost) == shown


def test_clean_makes_hostile_characters_visible():
    hostile = "a\x1b[31mred\u202eevil\x07\r\u2066x\u200bé🙂\n\tend"
    cleaned = words.clean(hostile)
    assert cleaned == "a\\x1b[31mred\\u202eevil\\x07\\r\\u2066x\\u200bé🙂\n\tend"


def test_what_failed_is_named_with_its_sessions_when_there_is_more_than_one(tmp_path):
    write_manifest(tmp_path)
    for repeat in range(6):
        writer = write_session(tmp_path, "fifo", repeat, lost_from=9 if repeat < 4 else None)
        writer.verdict(12, "fail" if repeat > 3 else "pass", id="room", subject="room", cause="ignored")
    text = in_words(screen(summarise(load_run(tmp_path))))
    assert (
        "`fifo` failed on `project-code` or `room` in 6 of 6 sessions, first between turns 9 and 12 "
        "(sessions: lost in 4, ignored in 2; project-code in 4, room in 2)." in text
    )
    assert "what it was told" not in text


def test_many_checks_are_counted_rather_than_named(tmp_path):
    write_manifest(tmp_path)
    for repeat in range(5):
        writer = write_session(tmp_path, "full", repeat)
        for name in ("a", "b", "c"):
            writer.verdict(12, "fail" if repeat == 0 else "pass", id=name, subject=name, cause="ignored")
    text = in_words(screen(summarise(load_run(tmp_path))))
    assert "ignored `a`, `b` or `c` in 1 of 5" in text
    assert "passed all 4 checks in 4 of 5 sessions through turn 24." in text


def test_the_length_of_sessions_that_only_overflowed_says_so(summary):
    text = screen(summary)
    assert "overflow at 18 (18–18)" in text
    assert ["fifo", "9", "(9–9)"] in [line.split()[:3] for line in text.splitlines()]


def test_labels_and_causes_break_where_they_may_at_80_columns(tmp_path):
    write_manifest(tmp_path, strategies=["pinned_plus_retrieval(keep=6 turns)"])
    for repeat in range(6):
        writer = write_session(tmp_path, "pinned_plus_retrieval(keep=6 turns)", repeat, lost_from=9)
        writer.verdict(12, "fail", id="room", subject="room", cause="ignored")
    lines = screen(summarise(load_run(tmp_path)), 80).splitlines()
    (first,) = (place for place, line in enumerate(lines) if line.startswith("pinned_plus_retrieval "))
    assert "lost 36," in lines[first]
    assert lines[first + 1].startswith("(keep=6\xa0turns)")
    assert "ignored 6" in lines[first + 1]


# --- the budget monitor, the tools, the grid


def test_levels_are_shown_when_one_was_reached_and_only_then(tmp_path, summary):
    write_manifest(tmp_path / "low")
    write_session(tmp_path / "low", "full", 0)
    assert "how full" not in screen(summarise(load_run(tmp_path / "low")))
    write_manifest(tmp_path)
    for repeat in range(5):
        writer = write_session(tmp_path, "full", repeat)
        writer.event(15, "budget_level", **{"from": "OK", "to": "WARN", "occupancy": 0.6})
    for width in (80, 120):
        text = in_words(screen(summarise(load_run(tmp_path)), width))
        assert "how full (≥ 60 % full) (≥ 80 % full) OK WARN level ROTATE level" in text
        assert "full turn 15 never 100 % 100 % 100 %" in text
        assert "(5 of 5) (0 of 5)" in text


@pytest.fixture(scope="module")
def amnesia(tmp_path_factory):
    folder = write_manifest(tmp_path_factory.mktemp("amnesia"))
    for repeat in range(8):
        booking(folder, repeat, {3, 6, 12, 18} if repeat % 4 == 0 else {3, 6, 12})
    return summarise(load_run(folder))


@pytest.mark.parametrize("width", [80, 120, 200])
def test_a_scenario_with_tools_has_an_actions_block(amnesia, summary, width):
    text = screen(amnesia, width)
    assert "called early" in text
    assert "100 % → 12 %" in text
    assert max(map(len, text.splitlines())) <= width
    assert "called early" not in screen(summary, width)


def test_the_alert_names_rates_sessions_and_interval(amnesia):
    text = in_words(screen(amnesia))
    assert (
        "ALERT: `full` calls its tools less late in the session: of the probes that ask for an action 100 % got a tool "
        "call in the first third of the session (n 16) and 12 % in the last (n 16), −88 points (95 % −100 to" in text
    )
    assert ", 8 sessions)." in text


def test_too_few_sessions_are_said_to_be_too_few(tmp_path):
    write_manifest(tmp_path)
    for repeat in range(3):
        booking(tmp_path, repeat, {3, 6})
    text = in_words(screen(summarise(load_run(tmp_path))))
    assert "ALERT" not in text
    assert "3 sessions are too few to tell whether tool use drops." in text


def test_steady_tools_are_no_finding(tmp_path):
    write_manifest(tmp_path)
    for repeat in range(6):
        booking(tmp_path, repeat, {3, 6, 12, 18, 24})
    text = screen(summarise(load_run(tmp_path)))
    assert "ALERT" not in text
    assert "too few to tell" not in text


@pytest.fixture(scope="module")
def grid(tmp_path_factory):
    folder = write_manifest(tmp_path_factory.mktemp("grid"))
    for turns in (12, 24):
        for mode in ("fork", "inline"):
            for repeat in range(6):
                write_session(
                    folder, "fifo(keep=6 turns)", repeat, scenario=f"g.turns-{turns}.{mode}", family="g", turns=turns,
                    ends=("completed", turns), probed=range(0, turns + 1, 3), lost_from=9 if mode == "inline" else None,
                )  # fmt: skip
    return summarise(load_run(folder))


@pytest.mark.parametrize("width", [80, 120])
def test_the_cells_of_a_grid_share_one_table(grid, width):
    text = screen(grid, width)
    assert max(map(len, text.splitlines())) <= width
    assert "a grid: turns 12, 24 × mode fork, inline" in in_words(text)
    assert "g.turns-12.fork" not in text
    rows = [line.split() for line in text.splitlines()]
    assert ["24", "inline", "fifo", "9", "0", "%", "96", "%", "100"] in rows
    assert "inline against fork (mode), `fifo(keep=6 turns)`: 100 % → " in in_words(text)
    assert ", 12 pairs)" in in_words(text)


# --- what to look at next


def test_the_next_step_shows_the_first_failure_of_the_shortest_sessions(run, summary):
    command, what = next_step(summary, run.path)
    words_ = shlex.split(command)
    assert words_[:3] == ["contextrot", "show", str(run.path)]
    assert what == "the first failure of `fifo` in `project-code`"
    out = io.StringIO()
    show_session(words_[2], words_[3], turn=int(words_[5]), console=Console(file=out, width=120))
    assert "TEAL-7 is not in the reply" in out.getvalue()


def test_without_a_failure_there_is_no_next_step(tmp_path):
    write_manifest(tmp_path)
    write_session(tmp_path, "full", 0)
    assert next_step(summarise(load_run(tmp_path)), tmp_path) is None


def test_a_failure_after_the_fresh_session_is_the_better_one_to_look_at(tmp_path):
    write_manifest(tmp_path)
    write_session(tmp_path, "full", 0, ignored_from=0)
    write_session(tmp_path, "full", 1, ignored_from=9)
    command, _ = next_step(summarise(load_run(tmp_path)), "runs/my run")
    assert "'runs/my run'" in command
    assert command.endswith("r001 --turn 9")
