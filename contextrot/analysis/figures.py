"""The figures of a run as types: what summary.json holds. Plain data; `analysis/summary.py` computes them.

Rates are shares (0-1) of decided verdicts with their counts, times are turns, costs USD; None is "not known", never 0.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from contextrot.analysis.budget import Threshold
from contextrot.analysis.difference import Difference
from contextrot.analysis.rates import CheckRate, ItemRate, Point, Rate, Share, Third
from contextrot.analysis.trend import Trend
from contextrot.outcomes import Ended

#: `ended` of a session that has no end record
RUNNING = "running"
#: share of sessions that could not be followed to the end, beyond which a group is not ranked by its length
MOST_UNFOLLOWED = 0.2
#: with fewer failures than this nothing can be said of their spread over the turns
FEWEST_FAILURES = 5
#: p-values below this are called a finding
SIGNIFICANT = 0.05
#: a ceiling below this says that failures measure what the model can do as much as what it keeps
GOOD_CEILING = 0.9
#: ends that say nothing about length: the session is censored where it was last checked
CUT_SHORT = (str(Ended.LIMIT), str(Ended.ERROR), str(Ended.CANCELLED), RUNNING)


@dataclass(frozen=True, slots=True)
class Actions:
    """What the sessions of a group did with their tools (`analysis/actions.py`).

    basis: what the call rate is over, replies to `probes` that ask for an action, or all `turns`. by_turn: that rate,
    a reply with a call as a pass. change: last third minus first; alert: its interval lies below 0. probes_by_turn:
    compliance of the `tool_call` probes. actions: tool calls of the model; repeated: those that had succeeded before.
    steps_per_turn: model calls a live turn took; steps_per_task: the same per task, None where there are none.
    """

    basis: str
    by_turn: list[Point]
    thirds: list[Third]
    change: Difference
    alert: bool
    probes_by_turn: list[Point]
    actions: int
    repeated: Share | None
    steps_per_turn: float | None
    tasks: int
    steps_per_task: float | None


@dataclass(frozen=True, slots=True)
class Saved:
    """Prompt tokens spared against `full` on `pairs` of sessions with the same script; `share` < 0: more were sent."""

    share: float
    prompt_tokens: int
    full_prompt_tokens: int
    pairs: int


@dataclass(frozen=True, slots=True)
class Reached:
    """A level of the budget monitor (`WARN`, `ROTATE`), from `threshold` of the window on.

    sessions: how many of `n` reached it; median_turn: of the turns at which those first did.
    """

    level: str
    threshold: float
    sessions: int
    n: int
    median_turn: float | None


@dataclass(frozen=True, slots=True)
class FirstFailure:
    """A session that failed, to be looked at: `contextrot show RUN session --turn turn`."""

    session: str
    turn: int


@dataclass(frozen=True, slots=True)
class Length:
    """Session length to first failure (Kaplan-Meier; turns). `analysis/survival.py` says what the figures are.

    n: sessions in the estimate; unknown: sessions in which nothing was checked. events: how many ended by `fail`,
    `overflow`, `over_budget`; all three end the useful session. censored: those without an event. first_fail_turns:
    ``{turn: sessions}``; last_pass: median turn of the last check that passed before the failure. first_causes: why
    the first failures failed (`mixed` when one turn failed for several reasons); first_subjects: what they failed on,
    ``{constraint, fact or probe: sessions}``. broke_off_turns: ``{turn: sessions}`` of overflow and over_budget.
    kept_turns: ``{turn: sessions}``, the last decided check of the sessions without an event. hazard_p: p-value of the
    constant-hazard null, None when fewer than 5 sessions failed. mixed_horizons: the sessions pooled here were checked
    up to different turns, so that a median of them mixes lengths. unfollowed: ``{turn: sessions}``, the last decided
    check of sessions without an event of which later checks were asked and nobody could decide them; unfollowed_why:
    ``{outcome: sessions}``, what came of the first of those.
    """

    median: float | None
    low: float | None
    high: float | None
    text: str
    n: int
    unknown: int
    censored: int
    events: dict[str, int]
    horizon: float | None
    restricted_mean: float | None
    restricted_mean_se: float | None
    last_pass: float | None
    first_fail_turns: dict[str, int]
    first_causes: dict[str, int]
    first_subjects: dict[str, int]
    broke_off_turns: dict[str, int]
    kept_turns: dict[str, int]
    hazard_p: float | None
    mixed_horizons: bool
    unfollowed: dict[str, int]
    unfollowed_why: dict[str, int]
    steps: list[dict[str, float]] = field(repr=False)

    @property
    def lost_sight(self) -> int:
        """How many sessions could not be followed to the end."""
        return sum(self.unfollowed.values())

    @property
    def followed(self) -> bool:
        """False where so many could not be followed that the length says nothing of how long sessions last."""
        return self.lost_sight <= MOST_UNFOLLOWED * self.n


@dataclass(frozen=True, slots=True)
class Shipping:
    """What a group says of rot, and of how long a session may be shipped (`trend.py`, `budget.py`, `curves.py`).

    trends: slope of compliance per turn, `all` turns and `after_fresh`, and of the tool-call rate (`tool_calls`, only
    where there are tools). thresholds: recommended WARN and ROTATE, in turns and in occupancy. effective_turns: longest
    turn up to which every rate is at least 0.85 of the ceiling, with the sentence on what it cannot claim. incidence:
    share of sessions ended by each kind of event up to the last turn (competing events, Aalen-Johansen).
    """

    trends: dict[str, Trend]
    thresholds: list[Threshold]
    effective_turns: float | None
    effective_note: str | None
    incidence: dict[str, float]


@dataclass(frozen=True, slots=True)
class Spent:
    """Calls, tokens and USD. Auxiliary calls are part of the totals and shown apart. None: not known for all calls."""

    calls: int
    prompt_tokens: int | None
    completion_tokens: int | None
    cached_tokens: int | None
    aux_calls: int
    aux_tokens: int | None
    cost: float | None
    tokens_per_session: float | None
    cost_per_session: float | None
    failed_calls: dict[str, int]

    @property
    def cached_share(self) -> float | None:
        """Prompt tokens answered from the provider's cache ÷ all; None when that is not known, or nothing was sent."""
        if self.cached_tokens is None or not self.prompt_tokens:
            return None
        return self.cached_tokens / self.prompt_tokens


@dataclass(frozen=True, slots=True)
class Group:
    """One strategy on one model in one scenario; `scenario` is None when pooled over scenarios.

    Compliance `overall` holds all turns, `fresh` turn 0, `after_fresh` the rest, `at_depth` the second half of the
    planned turns, `last_turn` the deepest turn the scenario was checked at. Curves are kept per verdict kind, as a
    probe and a passive check are asked at different turns. `cut`: did the strategy ever send less than the whole log?

    levels: when the budget monitor spoke; by_level: compliance by the level of the prompt that was answered (OK, WARN,
    ROTATE). actions: None where there are no tools. hallucinated: failed `abstain` checks. saved: against `full`.
    first_failure: the earliest, None when none failed. shipping: None when pooled, as scenarios differ in their turns.
    superseded: of the `ignored` failures those whose reply gave the value from before a change.
    """

    scenario: str | None
    model: str
    strategy: str
    own_memory: bool
    simulated: bool
    virtual_window: bool
    windows: list[int]
    history: list[str]
    turns_planned: int | None
    sessions: int
    ended: dict[str, int]
    length: Length
    compliance: dict[str, Rate]
    by_turn: dict[str, list[Point]] = field(repr=False)
    by_occupancy: dict[str, list[Point]] = field(repr=False)
    by_check: list[CheckRate] = field(repr=False)
    by_item: list[ItemRate] = field(repr=False)
    by_level: list[Point] = field(repr=False)
    levels: list[Reached]
    actions: Actions | None
    hallucinated: Share | None
    saved: Saved | None
    first_failure: FirstFailure | None
    shipping: Shipping | None
    causes: dict[str, int]
    superseded: int
    undecided: dict[str, int]
    spent: Spent
    prefix_reuse: float | None
    compactions: int
    cut: bool
    max_occupancy: float | None
    occupancy_estimated: bool

    @property
    def outdated(self) -> bool:
        """True where most of what was ignored is an old value given for the new one: that is no forgetting."""
        return 2 * self.superseded > self.causes.get("ignored", 0)

    @property
    def pattern(self) -> str:
        """How failures lie over the turns after the fresh one: what answers "is it rot, or an error rate?".

        `falls`, `rises`: the trend of compliance, with its interval on one side of 0. `uneven`: no such trend, but the
        first failures are spread too unevenly for a constant rate. `constant`: a constant rate explains them. `flat`:
        no trend, and too few failures to test the rate. `always`: not one check passed. `few`: too few failures, or
        too many sessions that could not be followed, to tell. Empty: nothing failed after the fresh session, or
        scenarios are pooled.
        """
        late = self.compliance["after_fresh"]
        if self.shipping is None or late.n == late.passes:
            return ""
        if not self.length.followed:
            return "few"
        if not late.passes:
            return "always"
        trend, p = self.shipping.trends["after_fresh"], self.length.hazard_p
        if trend.low is not None and trend.high is not None:
            if trend.high < 0:
                return "falls"
            if trend.low > 0:
                return "rises"
        if p is not None:
            return "uneven" if p < SIGNIFICANT else "constant"
        return "few" if trend.per_turn is None or late.n - late.passes < FEWEST_FAILURES else "flat"

    @property
    def subjects(self) -> list[str]:
        """Ids of the constraints and facts that were checked."""
        return sorted({check.subject or check.id for check in self.by_check})


@dataclass(frozen=True, slots=True)
class Control:
    """What the control questions showed for one probe or constraint; `kind` is what it is in the session.

    check: the type of the check. gateable: may decide a gate. What passes without its rule proves nothing; what the
    model cannot do may: another model could, and a change that makes it unable is a regression.
    """

    scenario: str
    model: str
    id: str
    kind: str
    ceiling: float | None
    ceiling_n: int
    ceiling_undecided: int
    floor: float | None
    floor_n: int
    floor_undecided: int
    incapable: bool
    tests_nothing: bool
    check: str
    gateable: bool

    @property
    def unheard(self) -> list[str]:
        """The sides, `ceiling` and `floor`, that were asked and not once decided: nothing is known from them."""
        sides = (("ceiling", self.ceiling_n, self.ceiling_undecided), ("floor", self.floor_n, self.floor_undecided))
        return [side for side, n, undecided in sides if undecided and not n]

    @property
    def weak(self) -> bool:
        """True where the model often fails fresh as well, without being held incapable."""
        return self.ceiling is not None and self.ceiling < GOOD_CEILING and not self.incapable


@dataclass(frozen=True, slots=True)
class Reference:
    """Ceiling and floor of all checks of one kind in a scenario on a model: what a degradation curve lies between."""

    scenario: str
    model: str
    kind: str
    ceiling: float | None
    ceiling_n: int
    floor: float | None
    floor_n: int


@dataclass(frozen=True, slots=True)
class Origin:
    """How the run was made, as run.json says. started, finished: UTC, ISO 8601. models: label → what was asked for.

    limit: the cap that ended it and how far it came; rescored: where it is from, when, and how many verdicts changed.
    Both are empty where that did not happen.
    """

    started: str | None
    finished: str | None
    command: str | None
    git_commit: str | None
    versions: dict[str, str]
    seed: int | None
    repeats: int | None
    models: dict[str, str]
    models_returned: dict[str, list[str]]
    titles: dict[str, str]
    limit: dict[str, Any] = field(default_factory=dict)
    rescored: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a grid under one strategy on one model; `values` are those of the axes that vary.

    occupancy_end, tokens_end: means over sessions of the last prompt that was answered (share of the window; tokens).
    """

    scenario: str
    values: dict[str, str]
    model: str
    strategy: str
    sessions: int
    length: str
    median: float | None
    at_depth: Rate
    occupancy_end: float | None
    tokens_end: float | None


@dataclass(frozen=True, slots=True)
class Band(Rate):
    """Compliance in one band of turns and one band of occupancy, over all cells of a grid."""

    model: str
    strategy: str
    turns: str
    occupancy: str


@dataclass(frozen=True, slots=True)
class PooledItem(ItemRate):
    """A rotated item over all cells of a grid."""

    model: str
    strategy: str


@dataclass(frozen=True, slots=True)
class Arm:
    """Two values of the axis `mode` or `history` side by side: probes passed after turn 0, `second` minus `first`.

    Sessions are paired by all other axes, strategy, model and repeat.
    """

    axis: str
    first: str
    second: str
    model: str
    strategy: str
    change: Difference


@dataclass(frozen=True, slots=True)
class Family:
    """The cells of one `grid:` side by side (`analysis/grids.py`)."""

    family: str
    axes: dict[str, list[str]]
    cells: list[Cell]
    bands: list[Band]
    arms: list[Arm]
    items: list[PooledItem]


@dataclass(frozen=True, slots=True)
class Summary:
    """A run in figures. `groups` per scenario × model × strategy, `pooled` over the scenarios of a model × strategy.

    errors: what sessions that ended by `error` or `limit` said, the most frequent first, with how many said it.
    check_errors: the same of checks that came to no verdict because they failed themselves.
    """

    version: int
    run: str
    status: str
    simulated: bool
    virtual_window: bool
    origin: Origin
    sessions: int
    control_sessions: int
    ended: dict[str, int]
    calls: int
    tokens: int | None
    cost: float | None
    groups: list[Group]
    pooled: list[Group]
    controls: list[Control]
    references: list[Reference]
    families: list[Family]
    errors: dict[str, int]
    check_errors: dict[str, int]
    problems: list[str]

    @property
    def measured(self) -> bool:
        """True when any check of a session was decided, or a session broke off: there is something to report."""
        return any(group.length.n for group in self.groups)

    @property
    def why_nothing(self) -> str:
        """A sentence why nothing was measured; empty when something was."""
        if self.measured:
            return ""
        if not self.sessions:
            return "the run holds no sessions"
        if self.errors:
            worst = next(iter(self.errors))
            went_wrong, all_sessions = sum(self.errors.values()), self.sessions + self.control_sessions
            return f"{went_wrong} of {all_sessions} sessions went wrong, first of all: {worst}"
        undecided = {name: n for group in self.groups for name, n in group.undecided.items()}
        if undecided:
            why = f": {next(iter(self.check_errors))}" if self.check_errors else ""
            return f"no check was decided ({', '.join(f'{name} {n}' for name, n in undecided.items())}){why}"
        return "no check was reached in any session"

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: what summary.json holds and `--json` prints."""
        return asdict(self)
