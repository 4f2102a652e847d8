"""The run directory's promises when the disk, another process or the clock is against it."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
from pathlib import Path

import orjson
import pytest
from small_bench import bench, session_lines

from contextrot.bench.plan import slug
from contextrot.bench.redact import REDACTED, Redactor, redact_keys
from contextrot.bench.store import RunDirectory
from contextrot.errors import StoreError

FORK = multiprocessing.get_context("fork")


def test_two_runs_in_one_second_get_two_folders(tmp_path: Path) -> None:
    paths = {RunDirectory.create(tmp_path, "same").path for _ in range(3)}
    assert len(paths) == 3


def test_a_model_name_with_slashes_names_a_file_in_the_folder(scenario_file: Path, tmp_path: Path) -> None:
    model = {"id": "sim/perfect", "label": "org/../model:7b\\x"}
    bench(tmp_path / "run", scenario_file, models=[model], strategies=["full"], repeats=1)
    assert len(session_lines(tmp_path / "run")) == 2
    assert slug("a/../b c:1") == "a-..-b-c-1"


def test_two_processes_on_one_folder(scenario_file: Path, tmp_path: Path) -> None:
    with RunDirectory.at(tmp_path / "run"), pytest.raises(StoreError, match="another contextrot process"):
        bench(tmp_path / "run", scenario_file)
    assert bench(tmp_path / "run", scenario_file)["status"] == "completed"


def run_with_little_room(out: Path, scenario: Path, said: Path) -> None:
    """The kernel refuses to let any file grow past 6 kB: a real refusal in the middle of a record."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000))
    try:
        bench(out, scenario)
    except StoreError as error:
        os.write(os.open(said, os.O_WRONLY | os.O_CREAT), str(error).encode())


def test_a_full_disk_is_a_sentence_and_the_run_goes_on_later(scenario_file: Path, tmp_path: Path) -> None:
    out, whole = tmp_path / "run", tmp_path / "whole"
    child = FORK.Process(target=run_with_little_room, args=(out, scenario_file, tmp_path / "said"))
    child.start()
    child.join()
    sentence = (tmp_path / "said").read_text(encoding="utf-8")
    assert "full" in sentence
    assert "same command again" in sentence
    bench(out, scenario_file)
    bench(whole, scenario_file)
    assert session_lines(out) == session_lines(whole)


def test_a_folder_that_cannot_be_written_is_a_sentence(scenario_file: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    with pytest.raises(StoreError, match=r"cannot (use|write)"):
        bench(tmp_path / "file" / "run", scenario_file)
    with pytest.raises(StoreError, match=r"cannot (use|write)"):
        RunDirectory.create(Path("/proc/contextrot"), "x")


def test_a_run_of_a_newer_format_is_refused(tmp_path: Path) -> None:
    directory = RunDirectory.at(tmp_path / "run")
    directory.write_manifest({"format_version": 99})
    with pytest.raises(StoreError, match="newer contextrot"):
        directory.read_manifest()


def test_secrets_are_replaced_by_value_and_by_key(scenario_file: Path, tmp_path: Path) -> None:
    secret = 'sk-"quoted"-secret-0123456789'
    redactor = Redactor({"OPENAI_API_KEY": secret, "HOME": "/root", "SHORT_TOKEN": "abc"})
    assert redactor.text(f"key {secret}!") == f"key {REDACTED}!"
    assert orjson.loads(redactor.line(orjson.dumps({"a": secret, "b": "/root abc"}))) == {
        "a": REDACTED,
        "b": "/root abc",
    }
    config = {
        "api_key": "x",
        "api_key_env": "MY_KEY",
        "params": [{"Authorization": "Bearer y", "top_p": 1}],
        "token": "",
    }
    assert redact_keys(config) == {
        "api_key": REDACTED, "api_key_env": "MY_KEY", "params": [{"Authorization": REDACTED, "top_p": 1}], "token": "",
    }  # fmt: skip


def test_a_secret_in_the_prompt_never_reaches_the_disk(
    scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "sk-live-0123456789abcdef"
    monkeypatch.setenv("SOME_API_KEY", secret)
    text = scenario_file.read_text(encoding="utf-8").replace("You are a support", f"Key {secret}. You are a support")
    scenario_file.write_text(text, encoding="utf-8")
    out = tmp_path / "run"
    bench(out, scenario_file, repeats=1)
    written = b"".join(path.read_bytes() for path in out.rglob("*") if path.is_file())
    assert secret.encode() not in written
    assert REDACTED.encode() in written
