"""`contextrot plan`, and the caps of `bench`, as users run them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Cli
from test_imports import HEAVY, folder, imported_by

__all__ = ["folder"]


def test_what_a_bench_takes_is_said_before_it_is_run(cli: Cli, tmp_path: Path) -> None:
    arguments = ["small.yaml", "--model", "sim/perfect", "--strategy", "full", "--strategy", "fifo", "--repeats", "4"]
    said = cli("plan", *arguments, "--json")
    assert said.returncode == 0, said.stderr
    assert not (tmp_path / "results").exists()
    total = json.loads(said.stdout)["total"]
    done = cli("bench", *arguments, "--json", "--no-report", "--out", "run")
    taken = json.loads(done.stdout)
    assert total["calls"]["total"] == pytest.approx(taken["calls"], rel=0.05)
    assert total["tokens"] == pytest.approx(taken["tokens"], rel=0.05)
    assert total["cost"]["without_caching"] == 0


def test_the_table_says_what_is_not_known(cli: Cli) -> None:
    (done, text) = _plan(cli, "--model", "endpoint/own@http://127.0.0.1:9/v1", "--window", "4000", "--max-cost", "1")
    assert done == 0
    assert "An estimate" in text
    assert "unknown" in text
    assert "$0.00" not in text
    assert "The price of endpoint/own@http://127.0.0.1:9/v1 is not known, so neither is the total" in text
    assert "bench would refuse --max-cost" in text


def test_a_listed_price_is_taken_without_a_key(cli: Cli) -> None:
    done, text = _plan(cli, "--model", "openai/gpt-4o-mini", "--max-cost", "0.000001", "--reply-tokens", "20")
    assert done == 0
    assert "replies are assumed to have 20 tokens" in text
    assert "--max-cost $0.000001 would end the run early: it would take about $0.0" in text
    assert "without caching" in text


def _plan(cli: Cli, *arguments: str) -> tuple[int, str]:
    done = cli("plan", "small.yaml", *arguments)
    return done.returncode, " ".join((done.stdout + done.stderr).split())


def test_detect_says_how_many_sessions_and_what_they_take(cli: Cli) -> None:
    done, text = _plan(cli, "--model", "sim/perfect", "--detect", "20%", "--median", "4")
    assert done == 0
    assert "A true drop of 20 % in restricted mean session length (from" in text
    assert "makes the gate 'rmst: -10%' fail 80 times of 100 with" in text
    assert "sessions a side (repeats x scenarios), at 5 % false alarms over the" in text
    data = json.loads(cli("plan", "small.yaml", "--model", "sim/perfect", "--detect", "0.2", "--json").stdout)
    [need] = data["detect"]
    assert need["repeats"] == need["sessions_a_side"] > 20
    assert need["one_side"]["sessions"] > data["total"]["sessions"]
    assert need["gate"] == "rmst: -10%"
    one = ["--model", "sim/perfect", "--strategy", "full", "--detect", "20%", "--gate", "rmst: -10%", "--json"]
    [alone] = json.loads(cli("plan", "small.yaml", *one).stdout)["detect"]
    assert alone["tests"] == 1
    assert alone["sessions_a_side"] < need["sessions_a_side"]


def test_detect_says_where_no_number_of_sessions_does_it_and_which_gate_would(cli: Cli) -> None:
    arguments = ["--model", "sim/perfect", "--strategy", "full", "--detect", "10%"]
    done, text = _plan(cli, *arguments)
    assert done == 0
    assert "makes the gate 'rmst: -10%' fail about half of the time, however many sessions there are" in text
    assert "A gate 'rmst: -5%' would fail 80 times of 100 with" in text
    [need] = json.loads(cli("plan", "small.yaml", *arguments, "--json").stdout)["detect"]
    assert need["sessions_a_side"] is need["one_side"] is None
    assert need["instead"]["gate"] == "rmst: -5%"
    assert need["instead"]["sessions_a_side"] > 100
    done, text = _plan(cli, *arguments[:-1], "10%", "--gate", "rmst: -5%")
    assert f"with {need['instead']['sessions_a_side']} sessions a side" in text
    assert "makes the gate 'rmst: -5%' fail 80 times of 100 with" in text


def test_detect_plans_for_the_gates_of_the_settings(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "contextrot.yaml").write_text("gates: [{gate: 'rmst: -15%', strategy: pinned}, median >= 3 turns]\n")
    arguments = ["--model", "sim/perfect", "--strategy", "full", "--strategy", "pinned", "--detect", "30%"]
    [need] = json.loads(cli("plan", "small.yaml", *arguments, "--json").stdout)["detect"]
    assert (need["gate"], need["tests"]) == ("rmst: -15% [strategy=pinned]", 1)
    done, text = _plan(cli, *arguments, "--gate", "median >= 3 turns")
    assert done == 0
    assert "no gate of yours asks for a drop of the session length; planned for 'rmst: -10%'" in text


def test_detect_takes_the_lengths_of_a_run(cli: Cli) -> None:
    cli(
        "bench",
        "small.yaml",
        "--model",
        "sim/hazard?hazard=0.3",
        "--strategy",
        "full",
        "--repeats",
        "8",
        "--out",
        "run",
    )
    done, text = _plan(cli, "--model", "sim/perfect", "--detect", "20%", "--from", "run")
    assert done == 0, text
    assert "sim/hazard?hazard=0.3 × full: a true drop of 20 %" in text


def test_detect_takes_a_run_whose_window_was_full_and_the_baseline_file_of_it(cli: Cli) -> None:
    """`full` overflows, `pinned` lasts; only what is asked for is planned, and a baseline file will do."""
    both = ["--model", "sim/perfect", "--strategy", "full", "--strategy", "pinned", "--window", "260", "--turns", "12"]
    done = cli("bench", "small.yaml", *both, "--max-tokens", "32", "--repeats", "8", "--out", "run")
    assert done.returncode == 0, done.stderr
    assert cli("baseline", "set", "run").returncode == 0
    plan = ["--model", "sim/perfect", "--window", "260", "--turns", "12", "--max-tokens", "32", "--detect", "30%"]
    for source in ("run", "contextrot-baseline.json"):
        told = cli(
            "plan", "small.yaml", *plan, "--strategy", "full", "--strategy", "pinned", "--from", source, "--json"
        )
        assert told.returncode == 0, told.stderr
        full, pinned = json.loads(told.stdout)["detect"]
        assert full["of"] == "sim/perfect × full"
        assert full["restricted_mean"] < 12  # it ran out of window
        assert pinned["sessions_a_side"] > 5
    told = cli("plan", "small.yaml", *plan, "--strategy", "pinned", "--from", "run", "--json")
    assert [need["of"] for need in json.loads(told.stdout)["detect"]] == ["sim/perfect × pinned"]
    told = cli("plan", "small.yaml", *plan, "--strategy", "fifo", "--from", "run")
    assert told.returncode == 2
    assert "--from run: nothing in it is planned here; it has scenarios small under full, pinned" in told.stderr


def test_a_strategy_that_never_does_anything_is_named(cli: Cli) -> None:
    arguments = ["--model", "sim/perfect", "--strategy", "full", "--strategy", "rolling_summary"]
    _, text = _plan(cli, *arguments)
    assert "rolling_summary on sim/perfect sends what full sends: it leaves nothing out in sessions of 6 turns" in text
    assert "a smaller --window" in text
    rows = json.loads(cli("plan", "small.yaml", *arguments, "--json").stdout)["rows"]
    assert {row["strategy"]: row["fires"] for row in rows} == {"controls": None, "full": None, "rolling_summary": False}
    # The same at a length and in a window in which it does.
    small = [*arguments, "--window", "400", "--turns", "30", "--max-tokens", "32"]
    _, text = _plan(cli, *small)
    assert "sends what full sends" not in text
    rows = json.loads(cli("plan", "small.yaml", *small, "--json").stdout)["rows"]
    assert {row["strategy"]: row["fires"] for row in rows}["rolling_summary"] is True


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--detect", "lots"], "--detect takes a share such as 10% or 0.1, not 'lots'"),
        (["--detect", "10"], "did you mean 10%?"),
        (["--detect", "110%"], "--detect takes a share such as 10% or 0.1, not '110%'\n"),
        (["--detect", "20%", "--gate", "rmst: -10% [strategy=none]"], "nothing that is planned is in the scope of"),
        (["--detect", "0%"], "--detect takes a share"),
        (["--median", "5"], "--median and --from belong to --detect"),
        (["--detect", "10%", "--from", "nowhere"], "there is no run at nowhere"),
        (["--reply-tokens", "0"], "--reply-tokens"),
        (["--model", "openai/nobody-knows"], "the context window of openai/nobody-knows is not known"),
    ],
)
def test_what_cannot_be_planned_is_a_sentence(cli: Cli, arguments: list[str], sentence: str) -> None:
    done = cli("plan", "small.yaml", *(["--model", "sim/perfect"] if "--model" not in arguments else []), *arguments)
    assert done.returncode == 2
    assert sentence in done.stderr or sentence in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_a_capped_bench_says_which_cap_and_goes_on_with_a_higher_one(cli: Cli, tmp_path: Path) -> None:
    arguments = ["small.yaml", "--model", "sim/perfect", "--strategy", "full", "--no-report"]
    done = cli("bench", *arguments, "--max-calls", "30", "--out", "run")
    assert done.returncode == 0, done.stderr
    assert "the cap --max-calls 30 ended the run after 30 calls" in done.stderr
    assert "of 10 sessions are complete" in done.stderr
    assert "contextrot bench --resume run --max-calls MORE" in done.stderr
    assert "The run is limited" in " ".join(done.stdout.split())
    assert cli("bench", "--resume", "run", "--repeats", "9").returncode == 2
    done = cli("bench", "--resume", "run", "--max-calls", "1000", "--no-report")
    assert done.returncode == 0, done.stderr
    assert "is now complete" in done.stderr
    assert json.loads((tmp_path / "run" / "run.json").read_bytes())["status"] == "completed"


def test_a_cap_on_an_unknown_price_is_refused_before_the_first_call(cli: Cli, tmp_path: Path) -> None:
    model = "endpoint/own@http://127.0.0.1:9/v1"
    done = cli("bench", "small.yaml", "--model", model, "--window", "4000", "--max-cost", "1", "--out", "run")
    assert done.returncode == 2
    assert f"max_cost: the price of {model} is not known" in done.stderr
    assert not (tmp_path / "run").exists()


def test_a_total_named_otherwise_is_understood(cli: Cli) -> None:
    done = cli("bench", "small.yaml", "--max-tokens-total", "100")
    assert done.returncode == 2
    assert "--max-total-tokens" in done.stderr


def test_a_plan_imports_nothing_heavy(folder: Path) -> None:
    assert not imported_by(folder, "plan", "small.yaml", "--model", "sim/perfect") & HEAVY
    assert not imported_by(folder, "plan", "small.yaml", "--model", "openai/gpt-4o-mini") & HEAVY
