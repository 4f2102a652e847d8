"""report.md: the verdict first, links that resolve, tables that stay tables whatever users wrote."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from acting import booking
from run_writer import SessionWriter, write_controls, write_manifest, write_session

from contextrot.analysis.summary import summarise
from contextrot.analysis.tables import load_run
from contextrot.errors import ConfigError, StoreError
from contextrot.report import markdown
from contextrot.report.write import write_report


def tables(text: str) -> list[list[str]]:
    blocks = re.findall(r"(?:^\|.*\|$\n?)+", text, flags=re.MULTILINE)
    return [block.strip().splitlines() for block in blocks]


def cells(row: str) -> int:
    return len(re.findall(r"(?<!\\)\|", row)) - 1


def test_links_resolve_and_the_report_comes_first(run, tmp_path):
    written = write_report(run, out=tmp_path / "out")
    assert written[:2] == [tmp_path / "out" / "report.html", tmp_path / "out" / "report.md"]
    assert all(path.exists() for path in written)
    links = re.findall(r"\]\(([^)]+)\)", written[1].read_text("utf-8"))
    assert len(links) == 4
    assert all((tmp_path / "out" / link).exists() for link in links)


def test_the_verdict_stands_before_the_figures(summary):
    text = markdown.render(summary)
    places = [
        text.index(part)
        for part in (
            "SIMULATED",
            "- `pinned` kept `project-code`",
            "## Figures",
            "## Controls",
            "## How it was run",
            "## Words",
        )
    ]
    assert places == sorted(places)


def test_every_row_has_the_cells_of_its_heading(summary):
    found = tables(markdown.render(summary))
    assert len(found) == 7
    for table in found:
        assert {cells(row) for row in table} == {cells(table[0])}


def test_figures_are_the_summary_s(summary):
    text = markdown.render(summary)
    assert "| project-code | sim/perfect | `fifo` | 6 | 9 turns (95 % 9–9) | 9 |" in text
    assert "| 0 % (0–39, n 24) |" in text
    assert "| `code` | 100 % (n 6) | 0 % (n 6) |" in text
    assert "asked for `sim/perfect`, answered as `perfect`" in text
    assert "seed 7, repeats 6" in text


@pytest.mark.parametrize(
    "line", ["a | b", "`code`", "two\nlines", "<script>alert(1)</script>", "**bold** [x](y) \x1b[0m"]
)
def test_hostile_text_stays_in_its_cell(tmp_path, line):
    write_manifest(tmp_path)
    write_session(tmp_path, "fifo", 0, lost_from=9, model=line)
    writer = SessionWriter(tmp_path, "k2", strategy=line, model=line)
    writer.end(1, "error", line)
    text = markdown.render(summarise(load_run(tmp_path)))
    for table in tables(text):
        assert {cells(row) for row in table} == {cells(table[0])}
    assert "\x1b" not in text
    outside_code = re.sub(r"`+[^`\n]*`+|^ {6}.*$", "", text, flags=re.MULTILINE)
    assert not re.search(r"(?<!\\)<script", outside_code)
    assert "[x](y)" not in outside_code


def test_a_pooled_table_when_there_are_several_scenarios(tmp_path):
    write_manifest(tmp_path)
    for scenario in ("a", "b"):
        write_session(tmp_path, "fifo", 0, lost_from=9, scenario=scenario)
    assert "Over all scenarios:" in markdown.render(summarise(load_run(tmp_path)))


def test_what_went_wrong_is_listed(tmp_path):
    write_manifest(tmp_path)
    write_session(tmp_path, "fifo", 0)
    for number in range(2):
        SessionWriter(tmp_path, f"s{number}").end(1, "error", "the key was refused")
    assert "- 2 × the key was refused" in markdown.render(summarise(load_run(tmp_path)))


def test_control_warnings_stand_before_the_figures(tmp_path):
    write_manifest(tmp_path)
    write_session(tmp_path, "fifo", 0)
    write_controls(tmp_path, floor=("pass",) * 6)
    text = markdown.render(summarise(load_run(tmp_path)))
    assert text.index("tests nothing: 100 %") < text.index("## Figures")


def test_an_empty_run_has_a_report_without_pictures(tmp_path):
    write_manifest(tmp_path)
    page, report, junit = write_report(load_run(tmp_path))
    assert (page.name, report.name, junit.name) == ("report.html", "report.md", "junit.xml")
    assert "Nothing was measured: this run holds no sessions." in report.read_text("utf-8")


def test_formats_are_chosen(run, tmp_path):
    assert [path.name for path in write_report(run, ["md"], tmp_path)] == ["report.md"]
    assert "](" not in (tmp_path / "report.md").read_text("utf-8")
    assert {path.suffix for path in write_report(run, ["png"], tmp_path)} == {".png"}
    with pytest.raises(ConfigError, match="'pdf'"):
        write_report(run, ["pdf"], tmp_path)


def test_a_folder_that_cannot_be_made_is_a_sentence(run, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot make the folder"):
        write_report(run, out=tmp_path / "file" / "inside")


def test_a_report_of_markdown_alone_needs_no_matplotlib(run, tmp_path):
    script = (
        "import sys; from contextrot.analysis.tables import load_run; "
        "from contextrot.report.write import write_report; "
        f"write_report(load_run({str(run.path)!r}), ['md'], {str(tmp_path)!r}); "
        "print([m for m in ('matplotlib', 'litellm') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_common_length_is_given_only_where_the_scenarios_are_as_long(tmp_path):
    for name, turns in (("same", 24), ("other", 12)):
        folder = write_manifest(tmp_path / name)
        write_session(folder, "fifo", 0, lost_from=9, scenario="a")
        write_session(folder, "fifo", 0, lost_from=9, scenario="b", ends=("completed", turns), turns=turns)
        text = markdown.render(summarise(load_run(folder)))
        pooled = text[text.index("Over all scenarios") : text.index("¹ Mean number")]
        assert ("turns to first failure" in pooled) == (name == "same")
        assert ("no common session length is given" in pooled) == (name == "other")
        for table in tables(text):
            assert {cells(row) for row in table} == {cells(table[0])}


def test_a_probe_that_tests_nothing_is_marked_wherever_it_stands(tmp_path):
    write_manifest(tmp_path)
    write_session(tmp_path, "fifo", 0)
    write_controls(tmp_path, floor=("pass",) * 6)
    text = markdown.render(summarise(load_run(tmp_path)))
    assert "It decides no gate." in text
    assert "| `code` (tests nothing) | probe |" in text
    assert "tests nothing, decides no gate |" in text
    write_controls(tmp_path, floor=("pass",) + ("fail",) * 9, ceiling=("pass",) * 10, scenario="other")
    assert markdown.render(summarise(load_run(tmp_path))).count("(tests nothing)") == 1


def test_levels_actions_and_savings_have_their_tables(tmp_path):
    write_manifest(tmp_path)
    for repeat in range(8):
        booking(tmp_path, repeat, {3, 6, 12})
        write_session(tmp_path, "fifo", repeat, scenario="booking")
        writer = SessionWriter(tmp_path, f"x{repeat}", scenario="booking", strategy="pinned", repeat=repeat)
        writer.event(5, "budget_level", **{"from": "OK", "to": "WARN", "occupancy": 0.61})
        writer.call(6, occupancy=0.65)
        writer.verdict(6, "fail", check="abstain", subject=None)
        writer.end(24)
    text = markdown.render(summarise(load_run(tmp_path)))
    for table in tables(text):
        assert {cells(row) for row in table} == {cells(table[0])}
    assert "| `pinned` | turn 5 (8 of 8) | never (0 of 8) | – | 0 % (0–32, n 8) | – |" in text
    assert "**ALERT** −100 points (95 % −100 to" in text
    assert "3: 100 %, 6: 100 %, 12: 100 %, 18: 0 %, 24: 0 %" in text
    assert "| `pinned` | 100 % (68–100, 8 of 8) |" in text
    assert "prompt tokens saved² |" in text


def test_a_grid_has_its_cells_its_bands_its_items_and_its_arms(tmp_path):
    write_manifest(tmp_path)
    for mode in ("fork", "inline"):
        for repeat in range(6):
            writer = write_session(tmp_path, "fifo", repeat, scenario=f"g.{mode}", family="g")
            writer.verdict(24, "pass" if mode == "fork" else "fail", id="what", item="a", cause="ignored")
    text = markdown.render(summarise(load_run(tmp_path)))
    for table in tables(text):
        assert {cells(row) for row in table} == {cells(table[0])}
    grid = text[text.index("## Grid g") : text.index("## Is it rot?")]
    assert "| fork | sim/perfect | `fifo` | 6 | not reached (> 24)" in grid
    assert "| 17–24 |" in grid
    assert "| `what` | `a` | 50 % (22–78, n 12) |" in grid
    assert "| mode | fork | inline | sim/perfect | `fifo` | 100 % (n 54) | 89 % (n 54) | −11 points (95 %" in grid
    assert "Items of probes that rotate" not in text
