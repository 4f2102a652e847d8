"""Ctrl-C on a running bench: saved, exit 130, and the printed command goes on."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

from command_line import CLEAN, Cli

COMMAND = ["bench", "small.yaml", "--model", "sim/hazard?hazard=0.1&latency=0.05", "--out", "run", "--no-report"]


def test_ctrl_c_saves_and_prints_how_to_go_on(cli: Cli, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "contextrot", *COMMAND],
        cwd=tmp_path, env=CLEAN, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 30
    while not any((tmp_path / "run" / "sessions").glob("*.jsonl")) and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.15)
    process.send_signal(signal.SIGINT)
    _out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in err
    resume = re.search(r"^ *contextrot (bench --resume .+)$", err, re.M)
    assert resume is not None, err
    assert any((tmp_path / "run" / "sessions").glob("*.jsonl"))
    done = cli(*shlex.split(resume[1]), "--no-report")
    assert done.returncode == 0, done.stderr
    assert "now complete" in done.stderr
    ends = [p.read_text(encoding="utf-8").splitlines()[-1] for p in (tmp_path / "run" / "sessions").glob("*.jsonl")]
    assert len(ends) == 20
    assert all('"ended":"completed"' in line for line in ends)
