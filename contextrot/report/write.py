"""Write the report of a run (page, Markdown, JUnit, plots) beside the run or into a folder of one's own."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from pathlib import Path

from contextrot.analysis.tables import Run
from contextrot.bench.store import RunDirectory
from contextrot.errors import ConfigError, StoreError

FORMATS = ("html", "md", "svg", "png", "junit")


def write_report(
    run: Run,
    formats: Iterable[str] = FORMATS,
    out: str | os.PathLike[str] | None = None,
    *,
    sessions: Collection[str] = (),
) -> list[Path]:
    """Write `report.html`, `report.md`, `junit.xml`, `plots/*` into `out` (default: the run directory).

    Returns the paths, what a person opens first. `sessions`: those whose details the page holds in any case.

    Raises `ConfigError` for a format that does not exist, `StoreError` when the folder cannot be written.
    """
    wanted = tuple(dict.fromkeys(formats))
    unknown = sorted(set(wanted) - set(FORMATS))
    if unknown:
        raise ConfigError(f"there is no report format {unknown[0]!r}; choose from {', '.join(FORMATS)}")
    from contextrot.report import junit, markdown, plots
    from contextrot.report.gates import gates_first

    folder = Path(out) if out is not None else run.path
    _make(folder)
    kinds = [kind for kind in wanted if kind in ("svg", "png")]
    chosen = plots.render(run.summary, kinds) if kinds else {}
    if chosen:
        _make(folder / "plots")
    written = []
    for name, content in chosen.items():
        RunDirectory(folder / "plots").write(name, content)
        written.append(folder / "plots" / name)
    if "junit" in wanted:
        RunDirectory(folder).write("junit.xml", junit.render(run))
        written.append(folder / "junit.xml")
    if "md" in wanted:
        shown = "svg" if "svg" in wanted else "png"
        linked = [
            (title, f"plots/{name}.{shown}") for name, title in plots.TITLES.items() if f"{name}.{shown}" in chosen
        ]
        RunDirectory(folder).write("report.md", gates_first(run, markdown.render(run.summary, linked)).encode())
        written.insert(0, folder / "report.md")
    if "html" in wanted:
        from contextrot.report.html import page

        RunDirectory(folder).write("report.html", page.render(run, sessions=sessions))
        written.insert(0, folder / "report.html")
    return written


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot make the folder {folder}: {error.strerror or error}; choose another --out") from None
