"""The floors of DESIGN §3: a file imports only from its own package or from lower floors."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "contextrot"

#: Rooms and files by floor, as the design lists them; a name that is not here is a file nobody gave a room to.
FLOORS = {
    7: ("cli", "__main__", "pytest_plugin"),
    6: ("report", "api", "agent"),
    5: ("analysis",),
    4: ("bench", "render", "memory", "memory_file", "callbacks", "tasks", "transcripts"),
    3: ("strategies", "scenario"),
    2: ("checks", "models", "config", "gate_grammar"),
    1: ("characters", "messages", "outcomes", "errors", "tokens", "log", "yaml_source", "actions"),
}
FLOOR_OF = {name: floor for floor, names in FLOORS.items() for name in names}


def room(path: Path) -> str:
    parts = path.relative_to(ROOT).parts
    return parts[0] if len(parts) > 1 else path.stem


def imported_rooms(path: Path) -> set[str]:
    """Rooms named by any import of the file, also those inside functions and under TYPE_CHECKING."""
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = [node.module]
            if node.module == "contextrot":
                names = [f"contextrot.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        rooms |= {name.split(".")[1] for name in names if name.startswith("contextrot.")}
    return rooms


FILES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_only_go_down(path: Path) -> None:
    own = room(path)
    assert own in FLOOR_OF, f"{path} belongs to no room of the design"
    upwards = {name for name in imported_rooms(path) if name != own and FLOOR_OF.get(name, 99) > FLOOR_OF[own]}
    assert not upwards, f"{path} on floor {FLOOR_OF[own]} imports from above: {sorted(upwards)}"


def test_rooms_on_one_floor_do_not_form_a_ring() -> None:
    edges = {(room(path), other) for path in FILES for other in imported_rooms(path) if other != room(path)}
    rings = sorted((a, b) for a, b in edges if (b, a) in edges and a < b)
    assert rings == []
