"""Growing columns that become a pandas table: a chunk per session, so that no row is ever an object of its own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd


class Column:
    """One growing column: a numpy chunk per session, categories as codes into one dictionary.

    `kind` is one letter: c category, i nullable integer, f float, b nullable boolean, s text.
    """

    __slots__ = ("chunks", "codes", "kind")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.chunks: list[Any] = []
        self.codes: defaultdict[Any, int] = defaultdict()
        self.codes.default_factory = self.codes.__len__

    def extend(self, values: Sequence[Any]) -> None:
        """Append values; None is missing."""
        import numpy as np

        if self.kind == "c":
            self.chunks.append(np.fromiter(map(self.codes.__getitem__, values), np.int32, len(values)))
        elif self.kind == "s":
            self.chunks.append(list(values))
        else:
            self.chunks.append(np.array(values, dtype=float))

    def repeat(self, value: Any, times: int) -> None:
        """Append one value several times."""
        import numpy as np

        if self.kind == "c":
            self.chunks.append(np.full(times, self.codes[value], np.int32))
        else:
            self.chunks.append(np.full(times, np.nan if value is None else value, dtype=float))

    def finish(self) -> Any:
        """The column as a pandas array; the chunks are given up on the way."""
        import numpy as np
        import pandas as pd

        chunks, self.chunks = self.chunks, []
        if self.kind == "s":
            return pd.array([text for chunk in chunks for text in chunk], dtype="string")
        if self.kind == "c":
            codes = np.concatenate(chunks) if chunks else np.empty(0, np.int32)
            return _categorical(codes, self.codes)
        values = np.concatenate(chunks) if chunks else np.empty(0, float)
        if self.kind == "f":
            return values
        missing = np.isnan(values)
        values[missing] = 0
        if self.kind == "b":
            return pd.arrays.BooleanArray(values.astype(bool), missing)
        return pd.arrays.IntegerArray(values.astype(np.int64), missing)


def _categorical(codes: np.ndarray[Any, Any], names: dict[Any, int]) -> pd.Categorical[Any]:
    import numpy as np
    import pandas as pd

    kept = [name for name in names if name is not None]
    place = {name: number for number, name in enumerate(kept)}
    translate = np.array([place.get(name, -1) for name in names], dtype=np.int32)
    return pd.Categorical.from_codes(translate[codes] if len(codes) else codes, categories=pd.Index(kept, dtype=object))


class Table:
    """Columns by name; `columns` maps each to its kind."""

    def __init__(self, columns: Mapping[str, str]) -> None:
        self.columns = {name: Column(kind) for name, kind in columns.items()}

    def add(self, head: Sequence[Any], rows: Sequence[tuple[Any, ...]]) -> None:
        """Append `rows`, each opened by the session's `head` values."""
        if not rows:
            return
        columns = list(self.columns.values())
        for column, value in zip(columns, head, strict=False):
            column.repeat(value, len(rows))
        for column, values in zip(columns[len(head) :], zip(*rows, strict=True), strict=True):
            column.extend(values)

    def finish(self) -> pd.DataFrame:
        """The table; the columns are given up."""
        import pandas as pd

        return pd.DataFrame({name: column.finish() for name, column in self.columns.items()}, copy=False)


def rows_of_groups(table: pd.DataFrame, number: Mapping[Any, int], parts: int) -> Iterator[pd.DataFrame]:
    """The rows of each of so many groups of sessions, in their order. number: session → its group.

    One pass over the table: to look for the sessions of each group anew takes groups × rows.
    """
    import numpy as np

    session = table["session"].cat
    of_category = np.array([number.get(name, -1) for name in session.categories] or [-1], dtype=np.intp)
    code = session.codes.to_numpy(dtype=np.intp)
    group = np.where(code < 0, -1, of_category[code])
    order = np.argsort(group, kind="stable")
    ends = np.searchsorted(group[order], np.arange(parts + 1))
    return (table.iloc[order[start:end]] for start, end in pairwise(ends))
