"""The pictures of the gallery: each says what it is of, and the pages say what captions.json says."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from contextrot import load_run
from contextrot.config import read_config_file, validated

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
FOLDER = DOCS / "images" / "gallery"
MADE = runpy.run_path(str(DOCS / "generate_gallery.py"))
CAPTIONS: dict[str, dict[str, Any]] = json.loads((FOLDER / "captions.json").read_text(encoding="utf-8"))
PAGES = [*MADE["PAGES"], MADE["PAGE"]]


def test_every_picture_has_a_caption_and_every_caption_a_picture() -> None:
    there = {path.name for path in FOLDER.iterdir() if path.name != "captions.json"}
    assert there == {caption["file"] for caption in CAPTIONS.values()}
    assert len(there) == len(CAPTIONS)


@pytest.mark.parametrize("name", CAPTIONS)
def test_a_caption_says_where_its_picture_comes_from(name: str) -> None:
    caption = CAPTIONS[name]
    words = MADE["origin"](caption)
    assert f"`{caption['model']}`" in words
    assert ("SIMULATED" in words) == caption["simulated"] == caption["model"].startswith("sim/")
    assert re.search(r"\bwindow of [\d,]+ tokens", words)
    assert ("virtual window" in words) == caption["virtual"]
    assert re.search(rf"\bn = {caption['sessions']} session", words)
    assert caption["sessions"] > 0
    assert re.search(r"\b20\d\d-\d\d-\d\d\b", words)
    assert f"`{caption['command']}`" in words
    assert caption["command"].startswith("contextrot ")
    assert caption["alt"]
    assert caption["shows"].rstrip()[-1] in ".:"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_pages_say_what_the_captions_say(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    made = MADE["gallery"](CAPTIONS) if page == MADE["PAGE"] else MADE["filled"](text, page, CAPTIONS)
    assert text == made, "run: python docs/generate_gallery.py"
    if page != MADE["PAGE"]:
        outside = MADE["BLOCK"].sub("", text)
        assert "images/gallery/" not in outside, "a picture of the gallery stands between markers, with its caption"
        assert "gallery -->" not in outside, "a marker without its other half"


def test_another_caption_and_another_page_are_noticed() -> None:
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    name = MADE["BLOCK"].search(text)[1]
    later = {**CAPTIONS, name: {**CAPTIONS[name], "date": "2031-01-01"}}
    assert "2031-01-01" in MADE["filled"](text, readme, later)
    assert MADE["gallery"](later) != MADE["gallery"](CAPTIONS)
    with pytest.raises(KeyError):
        MADE["filled"](text, readme, {key: value for key, value in CAPTIONS.items() if key != name})


def test_the_readme_shows_curves_the_report_and_an_xray() -> None:
    names = MADE["BLOCK"].findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert {name.partition("-")[0] for name in names} >= {"by", "report", "xray"}
    assert not any(CAPTIONS[name]["simulated"] for name in names)


def test_what_the_readme_says_of_its_first_picture_is_what_the_run_found() -> None:
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split("<!-- gallery: by-turn -->")[0].split())
    found = {sentence.split("`")[1]: sentence for sentence in CAPTIONS["by-turn"]["found"] if sentence[0] == "`"}
    for name, claim, word in (
        (
            "full",
            "with the whole history (`full`) it stops finding a project code that is still in its prompt",
            "ignored",
        ),
        ("fifo(keep=6 turns)", "(`fifo`) loses the code where it slides out", "lost"),
        ("pinned(keep=6 turns)", "pinned, it stays", "kept"),
    ):
        assert claim in text
        told, n, of = re.search(rf"{word} `project-code` in (\d+) of (\d+) sessions", found[name]).group(0, 1, 2)
        assert int(n) > int(of) / 2, told


def test_the_pictures_are_small_and_fetch_nothing() -> None:
    sizes = {path.name: path.stat().st_size for path in FOLDER.iterdir()}
    assert max(sizes.values()) < 150_000, sizes
    assert sum(sizes.values()) < 1_500_000, sizes
    for path in FOLDER.glob("*.svg"):
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "://" not in text.partition("<defs>")[0], path.name
        assert not re.search(r"@import|@font-face|url\((?!#)|href|<script", text), path.name


def test_the_settings_of_the_second_run_are_settings() -> None:
    config = validated(read_config_file(DOCS / "examples" / "gallery.yaml")[0])
    assert len(config.strategies) == 8
    assert [(ROOT / str(one)).is_file() for one in config.scenarios] == [True]


def test_screens_and_captions_are_made_from_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a simulated run the screen is what the command prints, and the caption says SIMULATED."""
    pytest.importorskip("playwright")
    monkeypatch.syspath_prepend(str(DOCS))
    made = runpy.run_path(str(DOCS / "make_gallery.py"))
    assert [picture.name for picture in made["pictures_wanted"]()] == list(CAPTIONS)
    out = tmp_path / "run"
    made["contextrot"](f"contextrot bench project-code --model sim/perfect --repeats 2 --no-report --out {out}")
    run = load_run(out)
    wanted = made["Picture"](
        "one", "screen", "quick", "T", "at {turn}", "under {strategy}",
        f"contextrot show {out} {{session}} --turn {{turn}}",
        cause="lost",
    )  # fmt: skip
    picture = made["filled"](wanted, run)
    assert (picture.alt, picture.shows) == ("at 8", "under fifo(keep=6 turns)")
    drawn = " ".join(re.sub(r"<[^>]+>", "", made["screen"](picture)).replace("&#160;", " ").split())
    assert "probe code (recall): fail" in drawn
    assert "[lost: it was no longer in what was sent, stated 7 turns before]" in drawn
    caption = made["caption"](picture, run)
    assert (caption["sessions"], caption["simulated"], caption["virtual"], caption["window"]) == (1, True, True, 1400)
    assert MADE["origin"](caption).startswith("SIMULATED: `sim/perfect`, virtual window of 1,400 tokens, n = 1 session")
    with pytest.raises(SystemExit, match="ignored"):
        made["filled"](made["Picture"]("two", "screen", "quick", "T", "", "", "", cause="ignored"), run)
    with pytest.raises(SystemExit, match="ended with 2"):
        made["contextrot"]("contextrot show")
