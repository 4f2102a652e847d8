"""Where a setting comes from: flag > environment > file > default; and what doctor tells of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Cli


def doctor(cli: Cli, *arguments: str, **env: str) -> dict[str, tuple[object, str]]:
    done = cli("doctor", "--json", *arguments, env=env)
    assert done.returncode == 0, done.stderr
    return {row["setting"]: (row["value"], row["source"]) for row in json.loads(done.stdout)["settings"]}


def test_flag_wins_over_environment_over_file_over_default(cli: Cli, tmp_path: Path) -> None:
    model = ("--model", "sim/perfect")
    assert doctor(cli, *model)["repeats"] == (5, "default")
    (tmp_path / "contextrot.yaml").write_text("seed: 3\nrepeats: 7\n", encoding="utf-8")
    assert doctor(cli, *model)["repeats"] == (7, "contextrot.yaml:2")
    assert doctor(cli, *model, CONTEXTROT_REPEATS="8")["repeats"] == (8, "CONTEXTROT_REPEATS")
    assert doctor(cli, *model, "--repeats", "9", CONTEXTROT_REPEATS="8")["repeats"] == (9, "--repeats")
    assert doctor(cli, *model)["seed"] == (3, "contextrot.yaml:1")


def test_lists_may_be_written_with_commas_in_the_environment(cli: Cli) -> None:
    found = doctor(cli, "--model", "sim/perfect", CONTEXTROT_STRATEGIES="full, fifo")
    assert found["strategies"] == (["full", "fifo"], "CONTEXTROT_STRATEGIES")


def test_a_path_that_is_there_is_taken_as_it_is(cli: Cli, tmp_path: Path) -> None:
    model = ("--model", "sim/perfect")
    (tmp_path / "tickets, second try.yaml").write_text("", encoding="utf-8")
    (tmp_path / "{a}.yaml").write_text("", encoding="utf-8")
    (tmp_path / "a,b.gguf").write_text("", encoding="utf-8")
    for name in ("tickets, second try.yaml", "{a}.yaml"):
        assert doctor(cli, *model, CONTEXTROT_SCENARIOS=name)["scenarios"] == ([name], "CONTEXTROT_SCENARIOS")
    found = doctor(cli, *model, CONTEXTROT_SCENARIOS="tickets, third try.yaml")
    assert found["scenarios"][0] == ["tickets", "third try.yaml"]
    assert doctor(cli, "--model", "local/a,b.gguf")["models"][0] == ["local/a,b.gguf"]


def test_helpers_are_named_or_described(cli: Cli, tmp_path: Path) -> None:
    model = ("--model", "sim/perfect")
    found = doctor(cli, *model)
    assert found["auxiliary"] == (None, "default")
    assert found["embedder"] == ("wordllama", "default")
    (tmp_path / "contextrot.yaml").write_text("embedder: {id: openai/e, base_url: http://x/v1}\n", encoding="utf-8")
    found = doctor(cli, *model, "--auxiliary", "{id: sim/perfect, window: 9000}")
    assert found["auxiliary"] == ("sim/perfect", "--auxiliary")
    assert found["embedder"] == ("openai/e", "contextrot.yaml:1")
    rows = json.loads(cli("doctor", "--json", *model, env={"CONTEXTROT_AUXILIARY": "extractive"}).stdout)["models"]
    assert [row["model"] for row in rows] == ["sim/perfect", "extractive"]


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("repeat: 3\n", ["contextrot.yaml:1", "repeats"]),
        ("seed: 1\nrepeats: many\n", ["contextrot.yaml:2", "repeats"]),
        ("seed: 1\nseed: 2\n", ["contextrot.yaml:2", "duplicate"]),
        ("- a\n", ["contextrot.yaml:1"]),
        ("models: [{id: sim/perfect, windw: 3}]\n", ["contextrot.yaml:1", "windw"]),
    ],
)
def test_a_faulty_file_is_named_with_its_line(cli: Cli, tmp_path: Path, file: str, said: list[str]) -> None:
    (tmp_path / "contextrot.yaml").write_text(file, encoding="utf-8")
    done = cli("doctor")
    assert done.returncode == 2
    for words in said:
        assert words in done.stderr


def test_an_unknown_variable_of_ours_is_named(cli: Cli) -> None:
    done = cli("doctor", env={"CONTEXTROT_REPEAT": "3"})
    assert done.returncode == 2
    assert "CONTEXTROT_REPEAT" in done.stderr
    assert "repeats" in done.stderr


def test_doctor_names_keys_and_never_shows_their_values(cli: Cli) -> None:
    secret = "sk-very-secret-value-123456"
    done = cli("doctor", "--model", "sim/perfect", env={"OPENAI_API_KEY": secret})
    assert "OPENAI_API_KEY" in done.stdout
    assert secret not in done.stdout + done.stderr


def test_doctor_knows_window_and_price_of_listed_models_without_a_key(cli: Cli) -> None:
    found = json.loads(cli("doctor", "--json", "--model", "openai/gpt-4o-mini").stdout)["models"]
    assert found[0]["window"] == 128_000
    assert found[0]["price"]["prompt"] == 0.15
    assert "OPENAI_API_KEY" in found[0]["state"]


def test_a_label_with_a_comma_is_one_strategy(cli: Cli) -> None:
    labels = "full, re_anchor(inner=pinned(keep=3 turns), every_n_turns=5)"
    found = doctor(cli, "--model", "sim/perfect", "--strategy", labels)
    assert found["strategies"][0] == ["full", "re_anchor(inner=pinned(keep=3 turns), every_n_turns=5)"]
