"""Every error contextrot raises on purpose. Each is one sentence a user can act on; none needs a traceback.

The class says which boundary was crossed; `cli/exits.py` turns it into an exit code.
"""

from __future__ import annotations


class ContextrotError(Exception):
    """Base of all errors raised on purpose. ``str(error)`` is the sentence shown to the user."""


class ConfigError(ContextrotError):
    """A setting, a strategy, a check or a model name that cannot work. Exit code 2."""


class MalformedHistoryError(ConfigError):
    """Messages handed in break the pairing of tool calls and tool results."""


class ScenarioError(ContextrotError):
    """One or more faults in a scenario file. Exit code 2.

    `problems` lists every fault as ``file:line: sentence``; ``str(error)`` is all of them, one a line.
    """

    def __init__(self, problems: list[str] | str) -> None:
        self.problems = [problems] if isinstance(problems, str) else list(problems)
        super().__init__("\n".join(self.problems))


class BudgetError(ContextrotError):
    """What must stay in view does not fit. `components` maps each part to its tokens."""

    def __init__(self, message: str, components: dict[str, int] | None = None) -> None:
        self.components = dict(components or {})
        table = "".join(f"\n  {name:<24}{tokens:>9,} tokens" for name, tokens in self.components.items())
        super().__init__(message + table)


class WindowOverflowError(BudgetError):
    """The log under `full` is longer than the window: a result (the session ends as `overflow`), not a fault."""


class LimitError(ContextrotError):
    """A cap of the whole run leaves no room for the next call: the session ends as `limit`; resume takes it up."""


class StoreError(ContextrotError):
    """The run directory cannot be used: not writable, full, locked, or of another run."""


class BaselineError(ContextrotError):
    """What a run is to be compared with is missing, damaged, or was measured otherwise. Exit code 4."""


class ModelError(ContextrotError):
    """A call to a model failed. Subclasses say how; only `retryable` ones are asked again by `bench/gate.py`."""

    retryable = False
    #: outcome word of DESIGN §2 that a call ending this way gets
    outcome = "error"
    #: how often the model was asked before this was raised; set by `bench/gate.py`
    attempts = 1


class MissingKeyError(ModelError):
    """No credentials for the provider. Found before the first call where possible. Exit code 2."""


class ContextOverflowError(ModelError):
    """The prompt is longer than the model's window, in whatever words the provider said it."""

    outcome = "overflow"


class RateLimitError(ModelError):
    """The provider asked to slow down. `retry_after` is its own wish in seconds, if it said one."""

    retryable = True

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ServerError(ModelError):
    """The provider's fault (5xx, dropped connection, an answer that is not the protocol): worth asking again."""

    retryable = True


class ModelTimeoutError(ModelError):
    """No answer within the call's time limit (seconds)."""

    retryable = True
    outcome = "timeout"


class NothingMatchedError(ConfigError):
    """A name or filter was understood and matches nothing. Exit code 5."""
