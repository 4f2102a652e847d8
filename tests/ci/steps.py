"""Runs the shell steps of a workflow, a composite action or a GitLab job as a runner does: bash and its variables.

Only what these files use of the expression language is understood; anything else is an error. `pip install` is written
down and not done, because the package under test is importable already.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CLEAN = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith(("CONTEXTROT_", "GITHUB_", "CI", "RUNNER_")) and not name.endswith(("_API_KEY", "_TOKEN"))
}
_EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}")


@dataclass
class Done:
    """What the steps did: the code of each that ran, what was printed, outputs by step, the summary."""

    codes: dict[str, int] = field(default_factory=dict)
    stdout: str = ""
    stderr: str = ""
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)
    summary: str = ""
    installed: list[str] = field(default_factory=list)

    @property
    def code(self) -> int:
        """The job's: that of the first step that failed."""
        return next((code for code in self.codes.values() if code), 0)

    @property
    def annotations(self) -> list[str]:
        """The workflow commands printed."""
        return [line for line in self.stdout.splitlines() if re.match(r"::(error|warning|notice) ", line)]


class Runner:
    """A workspace, and a place for the tools it has on its path."""

    def __init__(self, folder: Path) -> None:
        self.workspace = folder / "workspace"
        self.temp = folder / "temp"
        tools = folder / "tools"
        for place in (self.workspace, self.temp, tools):
            place.mkdir(parents=True, exist_ok=True)
        self.log = folder / "installed"
        python = shlex.quote(sys.executable)
        _tool(tools / "contextrot", f'exec {python} -m contextrot "$@"')
        _tool(
            tools / "python",
            f'if [ "$1 $2 $3" = "-m pip install" ]; then echo "${{!#}}" >> {shlex.quote(str(self.log))}; exit 0; fi\n'
            f'exec {python} "$@"',
        )
        self.environment = {
            **CLEAN,
            "PATH": f"{tools}{os.pathsep}{CLEAN['PATH']}",
            "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), CLEAN.get("PYTHONPATH")))),
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_WORKSPACE": str(self.workspace),
            "RUNNER_TEMP": str(self.temp),
        }

    def run(
        self,
        steps: list[dict[str, Any]],
        *,
        env: Mapping[str, str] | None = None,
        inputs: Mapping[str, str] | None = None,
    ) -> Done:
        """Run the `run:` steps in order, as their conditions say. Steps that use another action are passed over."""
        done = Done()
        known = {"inputs": dict(inputs or {}), "runner": {"temp": str(self.temp)}, "steps": done.outputs}
        for number, step in enumerate(steps):
            if "run" not in step or not _holds(step.get("if"), known, failed=bool(done.code)):
                continue
            name = step.get("id") or step.get("name") or f"step-{number}"
            output, summary = self.temp / f"output-{number}", self.temp / f"summary-{number}"
            output.write_text("", encoding="utf-8")  # another run of these steps may have left its own
            summary.write_text("", encoding="utf-8")
            given = {key: _filled(str(value), known) for key, value in (env or {}).items()}
            given |= {key: _filled(str(value), known) for key, value in step.get("env", {}).items()}
            variables = {
                "GITHUB_OUTPUT": str(output),
                "GITHUB_STEP_SUMMARY": str(summary),
                "GITHUB_ACTION_PATH": str(ROOT),
            }
            assert not _EXPRESSION.search(step["run"]), "an expression inside a script can be made to run anything"
            ran = subprocess.run(
                ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
                cwd=self.workspace / _filled(step.get("working-directory", "."), known),
                env={**self.environment, **variables, **given}, capture_output=True, text=True, timeout=300,
                check=False,
            )  # fmt: skip
            done.codes[name] = ran.returncode
            done.stdout += ran.stdout
            done.stderr += ran.stderr
            done.summary += summary.read_text(encoding="utf-8")
            done.outputs[name] = {
                "outputs": dict(line.partition("=")[::2] for line in output.read_text(encoding="utf-8").splitlines())
            }  # type: ignore[dict-item]
        done.installed = self.log.read_text(encoding="utf-8").split() if self.log.exists() else []
        return done


def _tool(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/bash\n{script}\n", encoding="utf-8")
    path.chmod(0o755)


def _filled(text: str, known: Mapping[str, Any]) -> str:
    return _EXPRESSION.sub(lambda found: str(_value(found[1], known)), text)


def _holds(condition: str | None, known: Mapping[str, Any], *, failed: bool) -> bool:
    """Whether a step runs: without a word on failures, only while all went well."""
    if condition is None:
        return not failed
    inner = condition.strip().removeprefix("${{").removesuffix("}}")
    says = "always()" in inner or "cancelled()" in inner
    return bool(_value(inner, known)) and (says or not failed)


def _value(expression: str, known: Mapping[str, Any]) -> Any:
    """The value of an expression: names with dots, texts, ==, !=, &&, ||, !, contains(), always(), cancelled()."""
    python = re.sub(r"!(?!=)", " not ", expression).replace("&&", " and ").replace("||", " or ")
    python = re.sub(r"\b(inputs|runner|steps)((?:\.[\w-]+)+)", lambda found: f"look({found[0]!r})", python).strip()

    def look(path: str) -> Any:
        value: Any = known
        for part in path.split("."):
            value = value.get(part, "") if isinstance(value, Mapping) else ""
        return value

    calls = {
        "look": look,
        "contains": lambda text, part: part in text,
        "always": lambda: True,
        "cancelled": lambda: False,
    }
    return eval(python, {"__builtins__": {}}, calls)
