"""The curves of a run as series: the figures of the summary told apart, and compliance by tokens and by constraint."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest
from run_writer import SessionWriter, write_manifest, write_session, write_three_strategies

from contextrot.analysis.places import FEWEST_BINS, MOST_BINS
from contextrot.analysis.series import (
    X_NAMES,
    Curve,
    SurvivalCurve,
    bin_width,
    compliance_curves,
    compliance_of,
    survival_curves,
)
from contextrot.analysis.tables import Run, load_run


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return load_run(write_three_strategies(tmp_path_factory.mktemp("three")))


def by_strategy(curves: Sequence[Any]) -> dict[str, Any]:
    assert len({curve.strategy for curve in curves}) == len(curves)
    return {curve.strategy: curve for curve in curves}


def steps(curve: SurvivalCurve) -> list[tuple[float, float, int, int, int, int]]:
    return [
        (s.turn, s.survival, s.at_risk, s.failures, s.overflows, s.censored)
        for s in curve.steps
        if s.failures + s.overflows + s.censored
    ]


def test_sessions_that_failed_overflowed_and_lasted_are_told_apart(three: Run) -> None:
    found = by_strategy(survival_curves(three))
    assert list(found) == ["full", "fifo", "pinned"]  # as the run was configured
    assert steps(found["full"]) == [(18.0, 0.0, 6, 0, 6, 0)]
    assert steps(found["fifo"]) == [(9.0, 0.0, 6, 6, 0, 0)]
    assert steps(found["pinned"]) == [(24.0, 1.0, 6, 0, 0, 6)]
    assert [found[name].median for name in found] == [18.0, 9.0, None]
    assert found["pinned"].text == "not reached (> 24)"
    assert found["fifo"].simulated
    assert found["fifo"].virtual_window
    assert found["fifo"].windows == [1000]


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Ten sessions: two fail at 6, one overflows at 9, three fail at 12, one is cut short at 15, three last."""
    folder = write_manifest(tmp_path_factory.mktemp("mixed"), strategies=["fifo"])
    plans: list[dict[str, Any]] = [
        *[{"lost_from": 6}] * 2, {"ends": ("overflow", 9)}, *[{"ignored_from": 12}] * 3, {"ends": ("limit", 15)},
        *[{}] * 3,
    ]  # fmt: skip
    for repeat, plan in enumerate(plans):
        write_session(folder, "fifo", repeat, **plan)
    return load_run(folder)


def test_competing_events_have_their_share_of_the_fall(mixed: Run) -> None:
    (curve,) = survival_curves(mixed)
    assert steps(curve) == [
        (6.0, pytest.approx(0.8), 10, 2, 0, 0),
        (9.0, pytest.approx(0.7), 8, 0, 1, 0),
        (12.0, pytest.approx(0.4), 7, 3, 0, 0),
        (15.0, pytest.approx(0.4), 4, 0, 0, 1),
        (24.0, pytest.approx(0.4), 3, 0, 0, 3),
    ]
    assert [(s.failed, s.overflowed) for s in curve.steps if s.failures + s.overflows + s.censored] == [
        pytest.approx(pair) for pair in [(0.2, 0.0), (0.2, 0.1), (0.5, 0.1), (0.5, 0.1), (0.5, 0.1)]
    ]
    assert all(s.survival + s.failed + s.overflowed == pytest.approx(1.0) for s in curve.steps)
    assert curve.events == {"fail": 5, "overflow": 1, "over_budget": 0}
    assert (curve.n, curve.censored, curve.median) == (10, 4, 12.0)


def test_the_last_shares_are_those_of_the_summary(mixed: Run) -> None:
    (curve,) = survival_curves(mixed)
    (group,) = mixed.summary.groups
    assert group.shipping is not None
    last = curve.steps[-1]
    assert group.shipping.incidence == {"fail": pytest.approx(last.failed), "overflow": pytest.approx(last.overflowed)}
    for step, row in zip(curve.steps, group.length.steps, strict=True):
        assert (step.turn, step.survival, step.at_risk) == (row["time"], row["survival"], row["at_risk"])


def test_several_scenarios_are_pooled_after_them(tmp_path: Path) -> None:
    write_manifest(tmp_path)
    for scenario, lost in (("a", 3), ("b", None)):
        for repeat in range(2):
            write_session(tmp_path, "full", repeat, scenario=scenario, lost_from=lost)
    run = load_run(tmp_path)
    assert [curve.scenario for curve in survival_curves(run)] == ["a", "b", None]
    pooled = survival_curves(run)[-1]
    assert steps(pooled) == [(3.0, 0.5, 4, 2, 0, 0), (24.0, 0.5, 2, 0, 0, 2)]
    for x in X_NAMES:
        assert [curve.scenario for curve in compliance_curves(run, x)] == ["a", "b", None]  # type: ignore[arg-type]
    assert [point.rate for point in compliance_curves(run, "turn")[-1].points[:2]] == [1.0, 0.5]
    assert [curve.scenario for curve in compliance_curves(run, "turn", "constraint")] == ["a", "b"]


def points(curve: Curve) -> list[tuple[str, float | None, int, int]]:
    return [(point.label, point.rate, point.n, point.sessions) for point in curve.points]


def test_turns_and_occupancy_are_those_of_the_summary(three: Run) -> None:
    for x, name in (("turn", "by_turn"), ("occupancy", "by_occupancy")):
        found = by_strategy(compliance_curves(three, x))  # type: ignore[arg-type]
        for group in three.summary.groups:
            assert found[group.strategy].points == getattr(group, name)["probe"]
    assert points(by_strategy(compliance_curves(three))["fifo"]) == [
        (str(turn), float(turn < 9), 6, 6) for turn in range(0, 25, 3)
    ]


def test_ceiling_and_floor_come_with_every_curve(three: Run) -> None:
    for per in ("kind", "constraint"):
        for curve in compliance_curves(three, "turn", per):  # type: ignore[arg-type]
            assert (curve.ceiling, curve.ceiling_n, curve.floor, curve.floor_n) == (1.0, 6, 0.0, 6)


@pytest.mark.parametrize("x", ["turn", "occupancy", "since"])
def test_one_constraint_alone_is_its_kind(three: Run, x: Any) -> None:
    whole, parts = compliance_curves(three, x), compliance_curves(three, x, "constraint")
    assert {curve.check for curve in parts} == {"project-code"}
    assert [points(curve) for curve in parts] == [points(curve) for curve in whole]


def sent(folder: Path, repeat: int, prompts: Sequence[tuple[int | None, int, bool]]) -> None:
    """A session of one probe a turn; a prompt is its tokens as the provider says, as we counted, and did it pass?"""
    session = SessionWriter(folder, f"s{repeat}", repeat=repeat)
    session.say(0, "For later: our project code is TEAL-7.", origin="fact")
    for turn, (tokens, counted, passed) in enumerate(prompts):
        usage = {"prompt_tokens": tokens, "completion_tokens": 1, "cached_tokens": None, "cost": None}
        session.call(turn, branch=f"code@{turn}", usage=usage, prompt_estimate=counted)
        session.verdict(turn, "pass" if passed else "fail", since_tokens=1000 * turn)
        session.verdict(turn, "pass", kind="passive", id="json", subject="json")
        session.verdict(turn, "pass", id="book", subject=None)
    session.end(len(prompts) - 1)


@pytest.fixture
def tokens(tmp_path: Path) -> Run:
    write_manifest(tmp_path)
    sent(tmp_path, 0, [(400, 390, True), (2000, 990, True), (9200, 5000, False)])
    sent(tmp_path, 1, [(500, 480, True), (2001, 990, False), (9200, 5000, False)])
    return load_run(tmp_path)


def test_tokens_of_the_prompt_come_in_bins_with_round_borders(tokens: Run) -> None:
    assert bin_width(tokens) == 2000
    (code,) = [curve for curve in compliance_curves(tokens, "tokens", "constraint") if curve.check == "project-code"]
    assert points(code) == [
        ("0–2,000", 1.0, 3, 2),  # closed on the right
        ("2,000–4,000", 0.0, 1, 1),
        ("4,000–6,000", None, 0, 0),  # gaps stay
        ("6,000–8,000", None, 0, 0),
        ("8,000–10,000", 0.0, 2, 2),
    ]
    assert [point.x for point in code.points[:2]] == [1000.0, 3000.0]
    assert not code.estimated


def test_bins_can_be_those_of_another_run(tokens: Run) -> None:
    for curve in compliance_curves(tokens, "tokens", width=5000):
        assert [point.label for point in curve.points] == ["0–5,000", "5,000–10,000"]


def test_what_the_provider_did_not_say_is_an_estimate(tmp_path: Path) -> None:
    write_manifest(tmp_path)
    sent(tmp_path, 0, [(400, 390, True), (None, 990, True)])
    curve = compliance_curves(load_run(tmp_path), "tokens", "constraint")[1]
    assert curve.estimated
    assert [point.x for point in curve.points if point.n] == [300.0, 900.0]  # bins of 200 tokens


def test_tokens_since_the_rule(tokens: Run) -> None:
    (code,) = [curve for curve in compliance_curves(tokens, "since", "constraint") if curve.check == "project-code"]
    assert bin_width(tokens, "since") == 500
    assert [(label, rate) for label, rate, n, _ in points(code) if n] == [
        ("0–500", 1.0), ("500–1,000", 0.5), ("1,500–2,000", 0.0),
    ]  # fmt: skip


def test_each_thing_checked_has_its_curve(tokens: Run) -> None:
    found = compliance_curves(tokens, "turn", "constraint")
    assert [(curve.kind, curve.check, curve.n) for curve in found] == [
        ("probe", "book", 6),  # tied to no rule or fact: the probe's own name
        ("probe", "project-code", 6),
        ("passive", "json", 6),
    ]


def test_intervals_are_over_sessions_and_one_session_has_none(tokens: Run) -> None:
    code = compliance_curves(tokens, "tokens", "constraint")[1]
    both, one = code.points[0], code.points[1]
    assert (both.low, both.high) == (pytest.approx(0.342, abs=1e-3), 1.0)  # Wilson of 2 of 2
    assert (one.low, one.high) == (None, None)


def test_a_run_without_sessions_has_no_curves(tmp_path: Path) -> None:
    run = load_run(write_manifest(tmp_path))
    assert survival_curves(run) == []
    assert [compliance_curves(run, x) for x in X_NAMES] == [[]] * 4  # type: ignore[arg-type]
    assert bin_width(run) is None


def test_what_does_not_exist_is_refused(three: Run) -> None:
    with pytest.raises(ValueError, match="x is one of turn, occupancy, tokens, since"):
        compliance_curves(three, "time")  # type: ignore[arg-type]


def walk(value: Any) -> Iterator[Any]:
    yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from walk(inner)


def test_series_are_json(three: Run, mixed: Run) -> None:
    for run in (three, mixed):
        for x in X_NAMES:
            for curve in [*survival_curves(run), *compliance_curves(run, x, "constraint")]:  # type: ignore[arg-type]
                value = curve.to_dict()
                assert orjson.loads(orjson.dumps(value)) == value  # a NaN would come back as null
                assert all(type(one) in (dict, list, str, int, float, bool, type(None)) for one in walk(value))


@pytest.mark.parametrize("most", [1, 12, 13, 999, 120_000, 131_072, 1_000_001])
def test_bins_are_round_and_few(tmp_path: Path, most: int) -> None:
    write_manifest(tmp_path)
    sent(tmp_path, 0, [(most, most, True)])
    width = bin_width(load_run(tmp_path))
    assert width is not None
    assert width * FEWEST_BINS >= most  # one turn was asked at
    assert str(width).rstrip("0") in ("1", "2", "5")
    assert (width == 1) or (width * FEWEST_BINS < 2.5 * most)


@pytest.mark.parametrize("x", list(X_NAMES))
def test_a_curve_knows_of_sessions_that_ran_out_of_window(three: Run, mixed: Run, x: Any) -> None:
    found = by_strategy(compliance_curves(three, x))
    assert [found[name].broke_off for name in found] == [{"overflow": 6}, {}, {}]
    assert [found[name].broke_off_turns for name in found] == [{"18": 6}, {}, {}]
    (curve,) = compliance_curves(mixed, x)
    assert (curve.broke_off, curve.broke_off_turns) == ({"overflow": 1}, {"9": 1})
    assert curve.group_trend is not None
    assert curve.group_trend.falls


def test_a_session_that_failed_before_it_overflowed_counts_too(tmp_path: Path) -> None:
    write_manifest(tmp_path)
    write_session(tmp_path, "full", 0, ignored_from=6, ends=("overflow", 17))
    write_session(tmp_path, "full", 1, ends=("overflow", 18))
    run = load_run(tmp_path)
    (curve,) = compliance_curves(run)
    assert (curve.broke_off, curve.broke_off_turns) == ({"overflow": 2}, {"17": 1, "18": 1})
    (curve,) = compliance_of(run.summary)  # which has the turn of one only
    assert (curve.broke_off, curve.broke_off_turns) == ({"overflow": 2}, {})


def test_a_mean_of_few_sessions_has_no_interval(mixed: Run, tmp_path: Path) -> None:
    (curve,) = survival_curves(mixed)
    (group,) = mixed.summary.groups
    assert curve.restricted_mean is not None
    assert curve.mean_low is not None
    assert curve.mean_high is not None
    assert group.length.restricted_mean_se is not None
    assert curve.mean_high - curve.mean_low == pytest.approx(2 * 1.96 * group.length.restricted_mean_se, rel=1e-4)
    write_manifest(tmp_path)
    for repeat in range(5):
        write_session(tmp_path, "full", repeat, ignored_from=3 + 3 * repeat)
    (few,) = survival_curves(load_run(tmp_path))
    assert (few.mean_low, few.mean_high) == (None, None)


def test_a_curve_over_turns_has_its_slope(mixed: Run) -> None:
    (whole,), (part,) = compliance_curves(mixed), compliance_curves(mixed, "turn", "constraint")
    assert whole.trend is not None
    assert part.trend is not None
    assert whole.trend == part.trend  # one kind of check, one constraint
    assert whole.trend.falls
    assert [curve.trend for curve in compliance_curves(mixed, "tokens")] == [None]


def test_bins_are_no_more_than_the_turns_asked_at(tmp_path: Path) -> None:
    for turns, bins in ((9, 9), (40, MOST_BINS)):
        folder = write_manifest(tmp_path / str(turns))
        sent(folder, 0, [(1000 * (turn + 1) // turns * 1000, 1, True) for turn in range(turns)])
        assert bin_width(load_run(folder)) == next(w for w in (100_000, 200_000) if w * bins >= 1_000_000)
