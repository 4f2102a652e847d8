"""The contract of a public benchmark as scenarios, and the registry by name.

To add one: a file in this folder with a reader decorated by `@register(...)`, and its name in the import of
`__init__.py`. The command line and the docs follow from it. What a benchmark's file says is data: it becomes what a
user said or what a check looks for, never an instruction to us.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from contextrot.checks.loading import suggestion
from contextrot.errors import ConfigError, NothingMatchedError

#: A scenario as plain data: what a scenario file holds.
Raw = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Option:
    """A setting of one benchmark. `choices` are the words it takes; none: a whole number from 1."""

    default: str
    meaning: str
    choices: tuple[str, ...] = ()


@dataclass(slots=True)
class Intake:
    """What is wanted of one import, and what had to be left out on the way.

    `turns` is the most user turns a session may have; `judged` says whether questions are wanted that
    code cannot grade. `left_out` counts, by reason, the questions and sessions that were passed over: nothing vanishes
    unseen.
    """

    turns: int | None = None
    judged: bool = True
    options: Mapping[str, str] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)

    def leave_out(self, reason: str, count: int = 1) -> None:
        """Note that something was passed over."""
        self.left_out[reason] += count


#: From the file or folder of a benchmark to scenarios, one at a time. Raises `ConfigError` for what is not its format.
Reader = Callable[[Path, Intake], Iterator[Raw]]


@dataclass(frozen=True, slots=True)
class Imported:
    """The scenarios of one import, and what was left out by reason."""

    scenarios: list[Raw]
    left_out: dict[str, int]


@dataclass(frozen=True, slots=True)
class Task:
    """A public benchmark. `file` says what PATH is; `sample` is a small part that comes with contextrot, if any."""

    name: str
    title: str
    licence: str
    citation: str
    link: str
    file: str
    reader: Reader
    options: Mapping[str, Option] = field(default_factory=dict)
    sample: Path | None = None
    #: finds the data where the user has installed it; raises `ConfigError` with what to do
    find: Callable[[], Path] | None = None

    @property
    def source(self) -> str:
        """The `source:` of every scenario made from it."""
        return f"{self.citation} {self.link} Licence of the data: {self.licence}"

    def read(
        self,
        path: str | Path | None = None,
        *,
        limit: int | None = None,
        turns: int | None = None,
        judged: bool = True,
        **options: str,
    ) -> Imported:
        """At most `limit` scenarios from the file at `path`, each a mapping as in YAML (see `scenario.dump`).

        `turns`: the most user turns of a session. `judged=False` leaves out what only a judge model can grade.
        `options` are the benchmark's own. Raises `ConfigError` for a missing file, one of another format, or an option
        that does not exist; `NothingMatchedError` when nothing is left.
        """
        for name, number in (("limit", limit), ("turns", turns)):
            if number is not None and number < 1:
                raise ConfigError(f"--{name} must be at least 1, not {number}")
        intake = Intake(turns=turns, judged=judged, options=self._options(options))
        found: list[Raw] = []
        place = self._place(path)
        for raw in self._scenarios(place, intake):
            found.append({"contextrot": 1, "id": raw["id"], "title": raw["title"], "source": self.source, **raw})
            if len(found) == limit:
                break
        if not found:
            why = "; ".join(f"{count} × {reason}" for reason, count in intake.left_out.items()) or "the file is empty"
            raise NothingMatchedError(f"{self.name}: nothing could be imported: {why}")
        return Imported(found, dict(intake.left_out))

    def _scenarios(self, place: Path, intake: Intake) -> Iterator[Raw]:
        """What the reader makes of the file; data of another shape than the benchmark's is a sentence."""
        try:
            yield from self.reader(place, intake)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise ConfigError(
                f"{place}: an entry is not as {self.name} writes it ({type(error).__name__}: {error}); "
                f"it reads {self.file}"
            ) from error

    def _place(self, path: str | Path | None) -> Path:
        if path is None:
            if self.find is not None:
                return self.find()
            raise ConfigError(
                f"{self.name} needs PATH: {self.file}" + (", or --sample" if self.sample is not None else "")
            )
        place = Path(path)
        if not place.exists():
            raise ConfigError(f"{path}: there is no such file or folder; {self.name} reads {self.file}")
        return place

    def _options(self, given: Mapping[str, str]) -> dict[str, str]:
        settled = {name: option.default for name, option in self.options.items()}
        for name, value in given.items():
            option = self.options.get(name)
            if option is None:
                known = suggestion(name, list(self.options)) if self.options else "; it has none"
                raise ConfigError(f"{self.name} has no option `{name}`{known}")
            if option.choices and value not in option.choices:
                raise ConfigError(f"{self.name}: `{name}` must be {' or '.join(option.choices)}, not `{value}`")
            if not option.choices and not (value.isdecimal() and int(value)):
                raise ConfigError(f"{self.name}: `{name}` must be a whole number from 1, not `{value}`")
            settled[name] = value
        return settled


REGISTRY: dict[str, Task] = {}

#: Where the samples that come with contextrot lie.
SAMPLES = Path(__file__).parent / "samples"


def register(name: str, **about: Any) -> Callable[[Reader], Reader]:
    """Decorate the reader of a benchmark; `about` is the rest of `Task`."""

    def known(reader: Reader) -> Reader:
        REGISTRY[name] = Task(name=name, reader=reader, **about)
        return reader

    return known


def task(name: str) -> Task:
    """The benchmark of this name. Raises `ConfigError` with the nearest one."""
    if name not in REGISTRY:
        raise ConfigError(f"there is no public task `{name}`{suggestion(name, list(REGISTRY))}")
    return REGISTRY[name]
