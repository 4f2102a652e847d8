"""The final table says what was found, at any width, and never more than was measured."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from run_writer import SessionWriter, write_controls, write_manifest, write_session

from contextrot.analysis.summary import summarise
from contextrot.analysis.tables import load_run
from contextrot.report import words
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
    assert (
        "`fifo` lost `project-code` in 6 of 6 sessions, at turn 9, where it was no longer in the prompt (lost 6)."
        in text
    )
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
    for figure in ("18", "(18–18)", "(0–39,\xa0n\xa024)", "lost 36", "3.63k", "not\xa0reached", "(>\xa024)"):
        assert figure in text, figure


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
    assert "too few sessions for an interval" in text


def test_ignored_and_cut_short_sessions_are_worded_as_such(tmp_path):
    write_manifest(tmp_path)
    for repeat, turn in enumerate((9, 12, 12, 12, 15)):
        write_session(tmp_path, "full", repeat, ignored_from=turn)
    write_session(tmp_path, "full", 5, ends=("error", 8))
    text = in_words(screen(summarise(load_run(tmp_path))))
    assert "ignored `project-code` in 5 of 6 sessions, first between turns 9 and 15, although it was in" in text
    assert "in the prompt (ignored 5); kept" in text
    assert "kept `project-code` in 1 of 6 sessions as far as they went (1 cut short)" in text
    assert "error 1 of 6" in text


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
