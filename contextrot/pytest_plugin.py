"""The pytest plugin: `make_agent`, `contextrot` and a marker. Nothing else of contextrot is imported until a test asks.

Every test run of everybody who has contextrot installed loads this file, so that it has to cost nothing: everything
beyond the standard library and pytest is imported inside the fixtures. What agents do is in `agent.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from contextrot.agent import Agent, Models
    from contextrot.analysis.tables import Run

#: The model of agents and benches where nobody names one: it reads the prompt it is sent and keeps every rule that it
#: can find there. Not the embedded one, or a result would depend on what lies in a cache.
MODEL = "sim/perfect"
#: name, default, what it is. Each is an ini setting `contextrot_NAME` and a flag `--contextrot-NAME`.
SETTINGS = (
    ("model", MODEL, "model of agents and benches"),
    ("window", "", "window in tokens, a virtual one where it is smaller than the model's [default: 1024 for agents]"),
    ("max_tokens", "", "longest reply in tokens [default: a quarter of the window, at most 512]"),
    ("pin_rules", "true", "true: agents pin the messages that state a standing rule, false: they pin nothing"),
)
#: What the marker takes; `strategies` besides, for tests that ask for `context_strategy` and for benches.
MARKER = ("model", "window", "max_tokens", "pin_rules", "strategies")
_HERE = Path(__file__).parent
_AGENTS = pytest.StashKey[list["Agent"]]()
#: The name of the property under which a test's report says what its agents did.
_PROPERTY = "contextrot"
#: the strategy that never does anything, which is what it is for
_PLAIN = "full"


class StrategyNeverFired(pytest.PytestWarning):
    """A test of a context strategy in which the strategy had nothing to do: it sent what `full` sends."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The settings, as flags and in the ini file."""
    group = parser.getgroup("contextrot", "long sessions with an LLM agent")
    for name, default, what in SETTINGS:
        parser.addini(f"contextrot_{name}", what, default=default)
        group.addoption(f"--contextrot-{name.replace('_', '-')}", metavar="VALUE", help=what)


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line(
        "markers",
        f"contextrot({', '.join(f'{name}=…' for name in MARKER)}): settings of make_agent and contextrot for this "
        "test; strategies also runs it once for each, where it takes an argument context_strategy",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that takes `context_strategy` once for each strategy of its marker."""
    if "context_strategy" not in metafunc.fixturenames:
        return
    for marker in metafunc.definition.iter_markers("contextrot"):
        if strategies := marker.kwargs.get("strategies"):
            names = [one if isinstance(one, str) else str(one.get("type", one)) for one in strategies]
            metafunc.parametrize("context_strategy", strategies, ids=names)
            return


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Say what the test's agents did; of a failed test also which rules were still in the prompt."""
    if call.excinfo is not None and call.when == "call" and not item.config.getoption("fulltrace"):
        _end_at_the_test(call.excinfo.value)
    agents = item.stash.get(_AGENTS, []) if call.when == "call" else []
    for agent in agents:
        item.user_properties.append((_PROPERTY, agent.describe()))
    report = yield
    if report.failed and agents:
        report.sections.append(("contextrot", "\n".join(agent.report() for agent in agents)))
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Whatever was made with a simulated model says so."""
    reports = [one for group in terminalreporter.stats.values() for one in group if getattr(one, "when", "") == "call"]
    told = [value for report in reports for name, value in getattr(report, "user_properties", ()) if name == _PROPERTY]
    simulated = sum("SIMULATED" in str(line) for line in told)
    if simulated:
        terminalreporter.write_line(
            f"contextrot: {simulated} of {len(told)} agents were SIMULATED; what they did says nothing about a real "
            "model (--contextrot-model names one)"
        )


@pytest.fixture(scope="session")
def _contextrot_models() -> Iterator[Models]:
    from contextrot.agent import Models

    with Models() as models:
        yield models


@pytest.fixture
def make_agent(request: pytest.FixtureRequest, _contextrot_models: Models) -> Iterator[Callable[..., Agent]]:
    """A factory: ``make_agent(context_strategy="fifo", model=…, window=…, system=…)`` gives a fresh `Agent`.

    ``agent.feed(text)`` returns the reply; see `contextrot.agent.Agent` for what else it takes and tells. What is not
    given comes from the marker, then from the flags, then from the ini file. An agent whose strategy never fired is
    warned of after the test.
    """
    from contextrot.agent import Agent

    settings = _settings(request)
    made = request.node.stash.setdefault(_AGENTS, [])

    def make(context_strategy: Any = "fifo", **given: Any) -> Agent:
        merged = {name: settings[name] for name in ("model", "window", "max_tokens", "pin_rules")} | given
        agent = Agent(_contextrot_models, context_strategy, **merged)
        made.append(agent)
        return agent

    yield make
    for agent in made:
        if agent.turn and not agent.fired and agent.strategy != _PLAIN:
            _warn(
                request.node,
                f"{agent.strategy} on {agent.model.spec.label} never left anything out in {agent.turn} turns: the last "
                f"prompt has {agent.tokens:,} of {agent.window:,} tokens, so that this says nothing about it",
            )


def _warn(node: Any, what: str) -> None:
    node.warn(StrategyNeverFired(f"{what}; a smaller window (--contextrot-window) or a longer session would"))


def _end_at_the_test(error: BaseException) -> None:
    """Of an error that contextrot raised on purpose the sentence is to be read: its traceback ends at the user's line.

    What the user's own code raised on the way is kept, as the cause of a `ModelError`. --full-trace shows everything.
    """
    errors = sys.modules.get("contextrot.errors")
    if errors is None or not isinstance(error, errors.ContextrotError):
        return
    frames, step = list[TracebackType](), error.__traceback__
    while step is not None:
        frames.append(step)
        step = step.tb_next
    ours = [Path(frame.tb_frame.f_code.co_filename).is_relative_to(_HERE) for frame in frames]
    if True in ours[1:] and ours[-1]:
        frames[ours.index(True) - 1].tb_next = None
        if not isinstance(error, errors.ModelError):
            error.__cause__, error.__suppress_context__ = None, True


class Contextrot:
    """What the fixture `contextrot` is: benches with the test's settings, and assertions on what they found.

    Runs are written to the test's own temporary folder.
    """

    def __init__(self, settings: dict[str, Any], folder: Path, node: Any) -> None:
        self._settings = settings
        self._folder = folder
        self._node = node
        self._runs = 0

    def bench(self, scenarios: str | Path | Sequence[str | Path], **settings: Any) -> Run:
        """Run scenarios and return the `Run`; the arguments are those of `contextrot.bench`.

        A strategy that never fired is warned of.
        """
        from contextrot.analysis.evidence import evidence_of
        from contextrot.api import bench

        self._runs += 1
        given = {"out": self._folder / f"run-{self._runs}", **self._defaults(), **settings}
        run = bench(scenarios, **{name: value for name, value in given.items() if value is not None})
        for (scenario, model, strategy), sessions in evidence_of(run).groups().items():
            if strategy != _PLAIN and not any(session.fired for session in sessions):
                _warn(
                    self._node,
                    f"{strategy} on {model} never left anything out in {scenario}, so that this says nothing about it",
                )
        return run

    def assert_median(
        self,
        run: Run,
        at_least: float,
        *,
        strategy: str | None = None,
        scenario: str | None = None,
        model: str | None = None,
    ) -> None:
        """Fail unless the median session lasts so many turns in every scenario, model and strategy (or those named).

        A median that was not reached counts as the turns that were looked at: half of the sessions lasted at least so
        long. Nothing measured is a failure, and so is a name that matches nothing.
        """
        __tracebackhide__ = True
        wanted = {"strategy": strategy, "scenario": scenario, "model": model}
        groups = [
            group
            for group in run.summary.groups
            if all(value is None or getattr(group, name) == value for name, value in wanted.items())
        ]
        short = []
        for group in groups:
            length = group.length
            lasted = length.median if length.median is not None else length.horizon
            if not length.n or lasted is None or lasted < at_least:
                what = length.text if length.n else "nothing was measured"
                short.append(f"{group.scenario} × {group.model} × {group.strategy}: {what}")
        if not groups:
            named = ", ".join(f"{kind} {name!r}" for kind, name in wanted.items() if name is not None)
            raise AssertionError(f"the run has nothing of {named}" if named else "the run holds no sessions")
        if short:
            raise AssertionError("\n  ".join([f"the median session should last at least {at_least:g} turns:", *short]))

    def assert_gates(self, run: Run, *gates: str | dict[str, str], baseline: Run | str | Path | None = None) -> None:
        """Fail unless every gate passes: ``"median >= 30 turns"``, ``"rmst: -10%"`` (see `contextrot gate`).

        No verdict is no pass. baseline: a run, a run directory or a file of `contextrot baseline set`.
        """
        __tracebackhide__ = True
        from contextrot.analysis.baseline import load_baseline
        from contextrot.analysis.gates import GateOutcome, evaluate
        from contextrot.report.gates import verdict_text
        from contextrot.report.gating import keep

        against = load_baseline(baseline) if isinstance(baseline, str | Path) else baseline
        result = evaluate(run, gates, against)
        keep(run, result)
        broken = [verdict for verdict in result.verdicts if verdict.outcome is not GateOutcome.PASSED]
        if not result.passed:  # and no `assert`: pytest would explain the result of it, which is pages of verdicts
            raise AssertionError("\n  ".join([result.sentence, *map(verdict_text, broken), *result.notes]))

    def _defaults(self) -> dict[str, Any]:
        names = {"models": "model", "window": "window", "max_tokens": "max_tokens", "strategies": "strategies"}
        return {name: self._settings.get(source) for name, source in names.items()}


@pytest.fixture(name="contextrot")
def _contextrot(request: pytest.FixtureRequest, tmp_path: Path) -> Contextrot:
    """Benches and assertions on them: ``run = contextrot.bench("scenarios/x.yaml", strategies=["fifo"])``."""
    return Contextrot(_settings(request), tmp_path, request.node)


def _settings(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Model, window and so on for a test: the nearest marker, else the flag, else the ini file."""
    config = request.config
    found: dict[str, Any] = {}
    for name, _default, _what in SETTINGS:
        given = config.getoption(f"--contextrot-{name.replace('_', '-')}")
        found[name] = _read(name, str(config.getini(f"contextrot_{name}") if given is None else given))
    for marker in reversed(list(request.node.iter_markers("contextrot"))):
        unknown = sorted(set(marker.kwargs) - set(MARKER))
        if unknown or marker.args:
            what = f"has no {unknown[0]!r}" if unknown else "takes no positional arguments"
            raise pytest.UsageError(
                f"{request.node.nodeid}: the marker contextrot {what}; it takes {', '.join(MARKER)}"
            )
        found |= marker.kwargs
    return found


def _read(name: str, text: str) -> Any:
    """A setting's text as its value; empty is None."""
    if name == "pin_rules":
        if text.lower() not in ("true", "false"):
            raise pytest.UsageError(f"contextrot_pin_rules is true or false, not {text!r}")
        return text.lower() == "true"
    if name in ("window", "max_tokens"):
        if text and not (text.isdecimal() and int(text)):
            raise pytest.UsageError(f"contextrot_{name} is a number of tokens, not {text!r}")
        return int(text) if text else None
    return text
