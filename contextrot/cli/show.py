"""`contextrot show RUN [SESSION]`: what was sent, what the strategy did, why a probe failed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def show(
    run: Annotated[Path, typer.Argument(help="a run directory")],
    session: Annotated[str | None, typer.Argument(help="a session's key, or part of it", show_default=False)] = None,
    turn: Annotated[int | None, typer.Option("--turn", help="print every message sent at this turn")] = None,
    json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """List a run's sessions, or walk through one of them."""
    from contextrot.cli.output import console, print_json
    from contextrot.report.show import session_data, show_session

    if json:
        print_json(session_data(run, session, turn=turn))
    else:
        show_session(run, session, turn=turn, console=console())
