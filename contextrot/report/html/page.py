"""`report.html`: the page put together from the templates, the inlined files and the run's data."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contextrot.report.html import charts, content, embed
from contextrot.report.html.archive import Archive, session_archive
from contextrot.report.html.curve_tables import curve_tables

if TYPE_CHECKING:
    import jinja2

    from contextrot.analysis.tables import Run

STATIC = Path(__file__).parent / "static"
#: in the order they run: the libraries, the start of the page, what it opens, what it draws
SCRIPTS = (
    "vendor/d3.min.js",
    "vendor/plot.umd.min.js",
    "vendor/sortable.min.js",
    "report.js",
    "charts.js",
    "session.js",
    "tracks.js",
    "matrix.js",
    "reading.js",
    "xray.js",
    "sessions.js",
)
STYLES = ("report.css", "xray.css")
#: bytes of a whole page, where `render` is not told another number
MOST_BYTES = 3_000_000
#: shares of a page that its curves may take, the next where the page is still too large with the one before
CURVE_SHARES = (1 / 3, 1 / 10, 0.0)


def render(run: Run, *, max_bytes: int = MOST_BYTES, sessions: Collection[str] = ()) -> bytes:
    """The report of a run as one HTML file of UTF-8. The same run gives the same bytes.

    What is left of `max_bytes` beside the figures goes to the sessions; where they do not all fit, the page says how
    many were left out and which command shows them. The same holds for curves, which take at most a third of the page.
    The tables of figures are never cut: by them alone a page can be larger than `max_bytes`. `sessions` names some that
    are kept before all others, whatever they take.

    Raises `NothingMatchedError` or `StoreError` for a name that is not of exactly one session.
    """
    template = _environment().get_template("report.html.j2")
    every, context = charts.page_data(run), content.context(run) | _inlined()
    nobody = Archive(index=[], chunks=[], left_out=0)
    for share in CURVE_SHARES:
        data = charts.fitting(every, int(max_bytes * share))
        context |= {"data_page": data, "curve_tables": curve_tables(data)}
        bare = template.render(context, archive=nobody).encode()
        if len(bare) <= max_bytes:
            break
    archive = session_archive(run, max_bytes=max_bytes - len(bare), sessions=sessions)
    return template.render(context, archive=archive).encode()


@cache
def _inlined() -> dict[str, Any]:
    scripts = [(STATIC / name).read_text(encoding="utf-8") for name in SCRIPTS]
    styles = [(STATIC / name).read_text(encoding="utf-8") for name in STYLES]
    return {
        "policy": embed.policy(scripts),
        "scripts": [embed.inline("script", text, name) for text, name in zip(scripts, SCRIPTS, strict=True)],
        "styles": [embed.inline("style", text, name) for text, name in zip(styles, STYLES, strict=True)],
        "libraries": content.libraries(),
    }


@cache
def _environment() -> jinja2.Environment:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("contextrot.report.html"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.filters |= content.FILTERS
    environment.globals |= {"data_block": embed.data_block, "chunk_block": embed.chunk_block}
    return environment
