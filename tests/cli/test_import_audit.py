"""`contextrot import` and `contextrot audit` as users run them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Cli

SAMPLES = Path(__file__).parent.parent / "transcripts" / "samples"
KEY = "sk-ant-" + "api03-abcdefGHIJKL0123456789"


def test_imported_checked_and_benched(cli: Cli, tmp_path: Path) -> None:
    done = cli("import", str(SAMPLES / "openai.json"))
    assert done.returncode == 0, done.stderr
    assert "read openai.json as openai: 2 turns, 7 messages" in done.stdout
    assert "tested: rule-1" in done.stdout
    assert cli("validate", "openai.yaml").stdout == "openai.yaml: openai is valid: 2 turns, 3 probe questions\n"
    done = cli("bench", "openai.yaml", "--model", "sim/perfect", "--repeats", "1", "--out", "run", "--no-report")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / "run.json").exists()


def test_secrets_are_counted_never_shown(cli: Cli, tmp_path: Path) -> None:
    chat = [{"role": "user", "content": f"key {KEY} of ann@example.com"}, {"role": "assistant", "content": f"ok {KEY}"}]
    (tmp_path / "chat.json").write_text(json.dumps(chat), encoding="utf-8")
    done = cli("import", "chat.json", "--id", "mine")
    assert "redacted: api-key 2" in done.stdout
    text = (tmp_path / "mine.yaml").read_text(encoding="utf-8")
    assert KEY not in text + done.stdout
    assert text.count("[api-key-1]") == 2
    assert "ann@example.com" in text
    cli("import", "chat.json", "--out", "all.yaml", "--redact", "all")
    assert "ann@example.com" not in (tmp_path / "all.yaml").read_text(encoding="utf-8")
    done = cli("import", "chat.json", "--out", "none.yaml", "--redact", "none")
    assert "redacted" not in done.stdout
    assert KEY in (tmp_path / "none.yaml").read_text(encoding="utf-8")


def test_import_chooses_and_cuts(cli: Cli, tmp_path: Path) -> None:
    done = cli("import", str(SAMPLES / "openai_finetune.jsonl"), "--turns", "1", "--out", "sub/a.yaml")
    assert "the longest of 2 conversations; --pick N takes another" in done.stdout
    text = (tmp_path / "sub" / "a.yaml").read_text(encoding="utf-8")
    assert "Capital of Peru?" in text
    assert "And Chile?" not in text
    cli("import", str(SAMPLES / "openai_finetune.jsonl"), "--pick", "1", "--out", "b.yaml")
    assert "Capital of France?" in (tmp_path / "b.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["none.json"], "none.json: there is no such file"),
        ([str(SAMPLES / "openai.json"), "--format", "word"], "there is no transcript format `word`"),
        ([str(SAMPLES / "openai.json"), "--pick", "2"], "holds 1 conversations; --pick 2 is none of them"),
        ([str(SAMPLES / "openai.json"), "--out", "small.yaml"], "small.yaml exists already; --force overwrites it"),
        ([str(SAMPLES / "openai.json"), "--id", "a b"], "an id is made of letters"),
        (["small.yaml"], "small.yaml is not JSON"),
    ],
)
def test_what_import_refuses(cli: Cli, arguments: list[str], sentence: str) -> None:
    done = cli("import", *arguments)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_audit_fits_a_screen(cli: Cli) -> None:
    done = cli(
        "audit", str(SAMPLES / "codex.jsonl"), "--check", "{type: count, unit: words, at_most: 2}",
        env={"NO_COLOR": "1", "COLUMNS": "80"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in done.stdout
    assert "count was kept in 1 of 2 turns; first broken at turn 1" in " ".join(done.stdout.split())
    assert "3 % of 258,400 tokens" in done.stdout
    assert "C: compaction" in done.stdout


def test_audit_as_json(cli: Cli) -> None:
    done = cli("audit", str(SAMPLES / "claude_code.jsonl"), "--window", "200000", "--json")
    data = json.loads(done.stdout)
    [one] = data["sessions"]
    assert one["calls"] == 4
    assert one["occupancy"][0]["tokens"] == 15_306
    assert one["repeats"] == 1
    assert data["turns_to_first_failure"] is None


def test_audit_of_a_session_with_the_scenario_made_from_it(cli: Cli) -> None:
    cli("import", str(SAMPLES / "openai.json"))
    done = cli("audit", str(SAMPLES / "openai.json"), "--scenario", "openai.yaml", "--json")
    [rule] = json.loads(done.stdout)["sessions"][0]["rules"]
    assert (rule["passed"], rule["decided"], rule["first_failure"], rule["stated"]) == (1, 2, 2, 0)


def test_audit_of_several(cli: Cli) -> None:
    files = [str(SAMPLES / name) for name in ("openai.json", "anthropic.json", "sharegpt.json")]
    done = cli("audit", *files, "--check", "{type: count, unit: words, at_most: 3}")
    assert done.stdout.startswith("4 sessions, turns to the first broken rule: ")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--check", "{type: jsn}"], "unknown check type `jsn`; did you mean `json`?"),
        (["--check", "{type: recall, fact: code}"], "looks up a fact, and a transcript states none"),
        (["--check", "{"], "is not YAML"),
        (["--scenario", "small.yaml"], "small.yaml has no constraint with a check"),
    ],
)
def test_what_audit_refuses(cli: Cli, arguments: list[str], sentence: str) -> None:
    done = cli("audit", str(SAMPLES / "openai.json"), *arguments)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_audit_shows_no_secret_and_still_counts_the_same_action(cli: Cli, tmp_path: Path) -> None:
    rounds = []
    for number in (1, 2, 3):
        call = {
            "id": f"c{number}",
            "type": "function",
            "function": {"name": "fetch", "arguments": f'{{"key": "{KEY}"}}'},
        }
        rounds += [
            {"role": "user", "content": "again"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": "fine"},
            {"role": "assistant", "content": f"done with {KEY}"},
        ]
    name = f"log-{KEY}.json"
    (tmp_path / name).write_text(json.dumps(rounds), encoding="utf-8")
    for arguments in ((), ("--json",), ("--check", "{type: json}"), ("--json", "--check", "{type: json}")):
        done = cli("audit", name, *arguments)
        assert done.returncode == 0, done.stderr
        assert KEY not in done.stdout
        assert "[api-key-1]" in done.stdout
    [found] = json.loads(done.stdout)["sessions"]
    assert found["repeats"] == 2
    done = cli("import", name)
    assert KEY not in done.stdout + "".join(path.name for path in tmp_path.glob("*.yaml"))


def test_several_are_told_apart_by_file_with_every_broken_rule_and_one_unit(cli: Cli, tmp_path: Path) -> None:
    chat = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello there, good to see you."}]
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text(json.dumps({"messages": chat, "id": "same"}), encoding="utf-8")
    checks = ["--check", "{type: json}", "--check", "{type: count, unit: words, at_most: 3}"]
    done = cli("audit", "a.json", "b.json", *checks)
    said = " ".join(done.stdout.split())
    assert "a.json" in said
    assert "b.json" in said
    assert said.count("broke count-2 at turn 1, json-1 at turn 1") == 2
    assert said.count("tokens") == 2
    said = " ".join(cli("audit", "a.json", "b.json", "--window", "1000").stdout.split())
    assert "tokens" not in said
    assert said.count("%") == 2


def test_the_turn_checks_apply_from_has_to_be_there(cli: Cli) -> None:
    arguments = ("audit", str(SAMPLES / "openai.json"), "--check", "{type: json}")
    assert cli(*arguments, "--from", "2").returncode == 0
    done = cli(*arguments, "--from", "3")
    assert done.returncode == 2
    assert "--from 3 is past the last turn (2)" in done.stderr


def test_import_says_as_json_what_it_wrote(cli: Cli, tmp_path: Path) -> None:
    done = cli("import", str(SAMPLES / "openai.json"), "--json")
    told = json.loads(done.stdout)
    assert (told["id"], told["format"], told["turns"], told["tested"]) == ("openai", "openai", 2, ["rule-1"])
    assert all((tmp_path / name).exists() for name in told["files"])
