"""Make the pictures of the gallery from two real runs: `make gallery`, or `python docs/make_gallery.py [--run DIR]`.

Benches the embedded model (`contextrot bench quick`, then eight strategies on one scenario by
docs/examples/gallery.yaml), or goes on with what is in results/gallery/: a finished run is not asked anything again.
`--run DIR` and `--strategies-run DIR` take runs that were made elsewhere by the same settings.

docs/gallery_pictures.yaml says which pictures there are. Each is what a command prints, plots or reports;
docs/images/gallery/captions.json says what it is of, and docs/generate_gallery.py puts that into the pages. Needs a
Chromium and the extra `dev`.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import generate_gallery
import yaml
from generate_gallery import CAPTIONS, FOLDER
from photograph_report import Shot, photograph, save_small

from contextrot import Run, load_run
from contextrot.report.findings import findings

ROOT = Path(__file__).parent.parent
RUNS = ROOT / "results" / "gallery"
PICTURES = Path(__file__).parent / "gallery_pictures.yaml"
#: run → the bench that makes it
BENCHES: Mapping[str, str] = {
    "quick": "contextrot bench quick --out results/gallery/quick",
    "strategies": "contextrot bench --config docs/examples/gallery.yaml --out results/gallery/strategies",
}
#: where a session is looked for that failed by one cause or the other
FAILURES = "project-code"
#: pixels of a photograph from top to bottom
HEIGHT = 860
#: A terminal as SVG. rich's own template loads a font from another host; each text keeps its width without it.
TERMINAL = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">
<style>
.{unique_id}-matrix {{ font: {char_height}px/{line_height}px ui-monospace, "DejaVu Sans Mono", Menlo, monospace; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-all"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-all)">
{backgrounds}<g class="{unique_id}-matrix">{matrix}</g></g>
</svg>
"""


@dataclass(frozen=True)
class Picture:
    """An entry of docs/gallery_pictures.yaml, which says what the fields are."""

    name: str
    kind: Literal["plot", "screen", "page"]
    of: str
    title: str
    alt: str
    shows: str
    command: str
    columns: int = 104
    scheme: Literal["light", "dark"] = "light"
    scenario: str = ""
    cause: str = ""
    found: bool = False
    #: of a picture of one session: its key and the turn at which it failed
    session: str = ""
    turn: int = 0

    @property
    def file(self) -> Path:
        """Where it is kept."""
        return FOLDER / f"{self.name}.{'svg' if self.kind == 'screen' else 'png'}"


def main() -> None:
    """Bench what is not there yet, make every picture, then the captions and the pages that show them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, metavar="DIR", help="take this run of the quick suite")
    parser.add_argument("--strategies-run", type=Path, metavar="DIR", help="take this run of examples/gallery.yaml")
    given = parser.parse_args()
    for name, source in (("quick", given.run), ("strategies", given.strategies_run)):
        if source is not None and source.resolve() != (RUNS / name).resolve():
            shutil.rmtree(RUNS / name, ignore_errors=True)
            shutil.copytree(source, RUNS / name)
        contextrot(BENCHES[name])
    make({name: load_run(RUNS / name) for name in BENCHES})
    generate_gallery.main()


def make(runs: Mapping[str, Run]) -> None:
    """All pictures and their captions. Pictures that are no longer made are removed."""
    pictures = [filled(picture, runs[picture.of]) for picture in pictures_wanted()]
    FOLDER.mkdir(parents=True, exist_ok=True)
    for picture in pictures:
        if picture.kind == "plot":
            draw(picture)
        elif picture.kind == "screen":
            picture.file.write_text(screen(picture), encoding="utf-8")
    for name, run in runs.items():
        shots = [shot(one) for one in pictures if one.kind == "page" and one.of == name]
        if shots:
            photograph(run.path / "report.html", shots)
    kept = {CAPTIONS, *(picture.file for picture in pictures)}
    for old in set(FOLDER.iterdir()) - kept:
        old.unlink()
    captions = {picture.name: caption(picture, runs[picture.of]) for picture in pictures}
    CAPTIONS.write_text(json.dumps(captions, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def pictures_wanted() -> list[Picture]:
    """What docs/gallery_pictures.yaml lists."""
    listed = yaml.safe_load(PICTURES.read_text(encoding="utf-8"))
    return [Picture(name=name, **entry) for name, entry in listed.items()]


def filled(picture: Picture, run: Run) -> Picture:
    """With the session that failed first by its cause, where it is of one. Ends where no session did."""
    if not picture.cause:
        return picture
    checks = run.verdicts
    failed = checks[(checks["scenario"] == FAILURES) & (checks["kind"] == "probe") & (checks["cause"] == picture.cause)]
    if failed.empty:
        raise SystemExit(f"no session of {FAILURES} in {run.path} {picture.cause} its fact: nothing to show")
    first = failed.sort_values(["turn", "session"]).iloc[0]
    session, turn = str(first["session"]), int(first["turn"])
    names = {"session": session.rpartition("--")[2], "turn": turn, "strategy": str(first["strategy"])}
    texts = {name: getattr(picture, name).format_map(names) for name in ("alt", "shows", "command")}
    return replace(picture, session=session, turn=turn, **texts)


def contextrot(command: str, **environment: str) -> str:
    """Run a command from the repository's folder, and return what it printed. Ends where it fails.

    1 and 3 are what `compare` found, not a failure.
    """
    clean = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    done = subprocess.run(
        [sys.executable, "-m", *shlex.split(command)], cwd=ROOT, env=clean | {"PYTHONUTF8": "1"} | environment,
        stdout=subprocess.PIPE, encoding="utf-8", check=False,
    )  # fmt: skip
    if done.returncode not in (0, 1, 3):
        raise SystemExit(f"{command} ended with {done.returncode}")
    return done.stdout


def draw(picture: Picture) -> None:
    """A plot as a small PNG."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "plot.png"
        contextrot(f"{picture.command} --out {shlex.quote(str(file))}")
        save_small(file.read_bytes(), picture.file)


def screen(picture: Picture) -> str:
    """What the command prints on a terminal of so many columns, as SVG; its text stays text."""
    from rich.console import Console
    from rich.terminal_theme import TerminalTheme
    from rich.text import Text

    printed = contextrot(
        picture.command, FORCE_COLOR="1", TERM="xterm-256color", COLORTERM="", COLUMNS=str(picture.columns), LINES="50"
    )
    dark, pale = (16, 20, 24), (216, 222, 228)
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        console = Console(record=True, width=picture.columns, file=nowhere, force_terminal=True, highlight=False)
        console.print(Text.assemble(("$ ", "color(31)"), (picture.command, "bold")))
        console.print(Text.from_ansi(printed.strip("\n") + "\n"))
        theme = TerminalTheme(dark, pale, [dark, *[pale] * 7])
        return console.export_svg(title="", theme=theme, code_format=TERMINAL, unique_id=picture.name)


def shot(picture: Picture) -> Shot:
    """The photograph it is: the report from its top, or one session at the turn it failed."""
    place = f"#session={picture.session}&turn={picture.turn}" if picture.session else ""
    return Shot(picture.file, place, picture.scheme, HEIGHT)


def caption(picture: Picture, run: Run) -> dict[str, Any]:
    """All that a caption says, from the run itself. `sessions` are those the picture is of, without controls."""
    of = run.sessions.query("not control")
    for column in ("scenario", "session"):
        if wanted := getattr(picture, column):
            of = of[of[column] == wanted]
    [model], [window], [source] = (list(of[name].unique()) for name in ("model", "window", "window_source"))
    groups = [group for group in run.summary.groups if group.scenario == picture.scenario]
    origin = run.summary.origin
    return {
        "file": picture.file.name,
        "title": picture.title,
        "alt": picture.alt,
        "shows": picture.shows,
        "found": findings(groups) if picture.found else [],
        "command": picture.command,
        "bench": BENCHES[picture.of],
        "model": str(model),
        "window": int(window),
        "virtual": bool(source == "virtual"),
        "strategies": [str(name) for name in of["strategy"].unique()],
        "sessions": len(of),
        "session": picture.session.rpartition("--")[2],
        "date": str(origin.started)[:10],
        "version": (origin.versions or {}).get("contextrot-bench", "unknown"),
        "simulated": bool(of["simulated"].any()),
    }


if __name__ == "__main__":
    main()
