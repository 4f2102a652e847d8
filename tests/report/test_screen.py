"""What every screen has to stand: dark and light terminals, pipes, narrow encodings, long lists."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.color import Color
from rich.console import Console
from rich.style import Style
from rich.text import Text
from run_writer import write_manifest, write_session

from contextrot.analysis.compare import compare
from contextrot.analysis.tables import load_run
from contextrot.cli.output import UNBROKEN, console, prepare_streams, print_table
from contextrot.report import palette
from contextrot.report.comparison import print_comparison
from contextrot.report.layout import READABLE, aligned, hanging, print_rule

REPORT = Path(palette.__file__).parent
COLOURS = {name: value for name, value in vars(palette).items() if name.isupper() and "color(" in value}


def luminance(colour: Color) -> float:
    """Relative luminance (WCAG 2.1)."""
    parts = [channel / 255 for channel in colour.get_truecolor()]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("name", COLOURS)
def test_every_colour_is_readable_on_black_and_on_white(name: str) -> None:
    colour = Style.parse(COLOURS[name]).color
    assert colour is not None
    assert (luminance(colour) + 0.05) / 0.05 >= 3.7
    assert 1.05 / (luminance(colour) + 0.05) >= 3.7


@pytest.mark.parametrize(
    "file", ["terminal", "terminal_blocks", "show", "session_list", "comparison", "gates", "audit", "layout"]
)
def test_a_screen_takes_its_colours_from_the_palette(file: str) -> None:
    named = r"""style=f?["'][^"']*\b(yellow|dim|cyan|magenta|green|red|blue|white|black)\b"""
    assert not re.findall(named, (REPORT / f"{file}.py").read_text(encoding="utf-8"))


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> pytest.CaptureFixture[str]:
    """stdout is no terminal and nothing says how wide it is."""
    for name in ("COLUMNS", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    return capsys


def test_in_a_pipe_a_row_is_a_line_without_colour_and_without_spaces_after_it(pipe: pytest.CaptureFixture[str]) -> None:
    print_table("numbers", ["name", "n"], [["long " * 60 + "end", "7"], ["short", "1,200"]], right=["n"])
    console().print(Text("word " * 100 + "last", style="bold"))
    text = pipe.readouterr().out
    lines = text.splitlines()
    assert len(lines) == 7
    assert "\x1b" not in text
    assert not any(line.endswith(" ") for line in lines)
    assert re.search(r"end +7$", lines[4])
    assert lines[5].endswith("1,200")
    assert lines[6].endswith("last")


def test_in_a_pipe_columns_says_how_wide_it_is(
    pipe: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert console().width == UNBROKEN
    monkeypatch.setenv("COLUMNS", "60")
    console().print("word " * 100)
    assert max(map(len, pipe.readouterr().out.splitlines())) <= 60


def test_a_terminal_of_ascii_gets_the_nearest_of_each_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    raw = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(raw, encoding="ascii", write_through=True))
    monkeypatch.setattr("sys.stderr", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    prepare_streams()
    console().print(Text("a → b, ≥ 3 – 4 × −2 … 会"))
    assert raw.getvalue().decode("ascii") == "a -> b, >= 3 - 4 x -2 ... \\u4f1a\n"


def test_figures_stand_right_and_their_brackets_under_each_other() -> None:
    assert aligned(["8 (8–8)", "14 (≥ 0)", "not reached (> 20)", "–"]) == [
        "          8 (8–8)",
        "         14 (≥ 0)",
        "not reached (> 20)",
        "          –",
    ]


def compared(folder: Path, strategies: list[str], width: int) -> str:
    write_manifest(folder, strategies=strategies)
    for place, strategy in enumerate(strategies):
        for repeat in range(8):
            write_session(
                folder,
                strategy,
                repeat,
                scenario="tool-invocation-of-old",
                lost_from=(9 + 3 * (repeat % 3)) if place else None,
            )
    out = Console(file=io.StringIO(), width=width)
    print_comparison(compare(load_run(folder)), out)
    return out.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["fifo", "a_strategy_of_a_name_that_is_long"])
def test_a_comparison_at_eighty_columns_breaks_no_word(tmp_path: Path, name: str) -> None:
    lines = [line.rstrip() for line in compared(tmp_path, ["full", name], 80).splitlines()]
    assert max(map(cell_len, lines)) <= 80
    assert "tool-invocation-of-old" in lines
    (row,) = [line for line in lines if line.startswith(f" {name}")]
    assert (row == f" {name}") == (name != "fifo")  # a long one stands above its figures
    assert sum(bool(re.search(r"\(\S+\sto\s\S+\)", line)) for line in lines) == 1


def test_a_wide_sign_counts_as_two_columns() -> None:
    first, second = aligned(["会議 (1)", "abc (2)"])
    assert cell_len(first.partition(" (")[0]) == cell_len(second.partition(" (")[0])


def test_a_paragraph_hangs_from_its_mark_and_a_rule_is_no_longer_than_can_be_read() -> None:
    out = Console(file=io.StringIO(), width=30)
    out.print(hanging([(Text("-"), Text("a sentence that is longer than thirty columns"))]))
    first, second = out.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert first.startswith("- a sentence")
    assert second.startswith("  ")
    assert second[2] != " "
    wide = Console(file=io.StringIO(), width=UNBROKEN)
    print_rule(wide, Text("turn 1"))
    assert len(wide.file.getvalue()) <= READABLE + 1  # type: ignore[attr-defined]
