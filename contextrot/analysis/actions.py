"""What the model did with its tools: call rate against position, repeated actions, steps; with an alert when it stops.

Tool amnesia is a rate that falls within the session, so the comparison is within sessions: the last third of the turns
against the first. The unit is the session, and without an interval that excludes 0 there is no alert (DESIGN §8).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from contextrot.analysis.curves import compliance
from contextrot.analysis.difference import rate_difference
from contextrot.analysis.figures import Actions, Saved
from contextrot.analysis.rates import Point, Share, Third

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

THIRDS = ("first", "middle", "last")
#: what names a reply: a turn of a session, or a branch of it
_WHERE = ["session", "turn", "branch"]


def actions(sessions: pd.DataFrame, verdicts: pd.DataFrame, calls: pd.DataFrame) -> Actions | None:
    """What the sessions of one group did with tools; None where there is nothing to call.

    `calls` are rows of `Run.turns`. A reply counts once however many rounds it took. Where probes ask for an action
    (`tool_call` in their check), the rate is over their replies, which have a reason to call; else over all answered
    turns, but for those of probes, which have none: a question late in the session would look like a tool no longer
    called.
    """
    asks = _asking(verdicts)
    if not _tools_in(asks, calls):
        return None
    basis, of_probes = _basis(sessions, verdicts, calls)
    thirds = [_third(basis, number) for number in range(len(THIRDS))]
    early, late = (_per_session(basis, number) for number in (0, len(THIRDS) - 1))
    names = sorted({*early, *late})
    change = rate_difference(*([side.get(name, (0, 0)) for name in names] for side in (early, late)))
    done, repeated = int(sessions["actions"].sum()), int(sessions["repeated_actions"].sum())
    return Actions(
        basis="probes" if of_probes else "turns",
        by_turn=_points(basis.assign(outcome=_outcome(basis["called"])), "turn"),
        thirds=thirds,
        change=change,
        alert=change.falls,
        probes_by_turn=_points(asks, "turn"),
        actions=done,
        repeated=_share(sessions["repeated_actions"], sessions["actions"]) if done or repeated else None,
        steps_per_turn=_steps(calls),
        tasks=int(sessions["tasks"].sum()),
        steps_per_task=_ratio(sessions["task_calls"].sum(), sessions["tasks"].sum()),
    )


def acting_replies(sessions: pd.DataFrame, verdicts: pd.DataFrame, calls: pd.DataFrame) -> pd.DataFrame | None:
    """One row per reply that `actions` takes its rate over (session, turn, called); None where there is no tool."""
    if not _tools_in(_asking(verdicts), calls):
        return None
    return _basis(sessions, verdicts, calls)[0]


def called_of(sessions: pd.DataFrame, verdicts: pd.DataFrame, calls: pd.DataFrame) -> dict[str, tuple[int, int]]:
    """Session → (replies with a tool call, replies), over the replies that `actions` takes its rate over.

    Which replies those are is decided for each scenario: where its probes ask for an action, the replies to them.
    """
    found: dict[str, tuple[int, int]] = {}
    for _, mine in sessions.groupby("scenario", observed=True):
        names = set(mine["session"])
        rows, graded = calls.loc[calls["session"].isin(names)], verdicts.loc[verdicts["session"].isin(names)]
        table = _basis(mine, graded, rows)[0].groupby("session")["called"].agg(["sum", "size"])
        found |= {
            str(name): (int(a), int(n)) for name, a, n in zip(table.index, table["sum"], table["size"], strict=True)
        }
    return found


def hallucinated(verdicts: pd.DataFrame) -> Share | None:
    """Share of questions about what was never said that were answered all the same; None where none was asked."""
    rows = verdicts.loc[verdicts["abstained"].notna()]
    if not len(rows):
        return None
    failed = (~rows["abstained"].astype(bool)).astype(int).groupby(rows["session"].astype(object))
    return _share(failed.sum(), failed.size())


#: session → turns and prompt tokens (NaN: not said) of its answered calls
Prompts = Mapping[Any, tuple["Array", "Array"]]


def prompts(calls: pd.DataFrame) -> Prompts:
    """The prompt tokens of every session, read once for a whole run (`saved`)."""
    rows = calls.loc[calls["outcome"] == "ok", ["session", "turn", "prompt_tokens"]]
    turns, tokens = (rows[name].to_numpy(dtype=float, na_value=float("nan")) for name in ("turn", "prompt_tokens"))
    at = rows.groupby(rows["session"].astype(object).to_numpy()).indices
    return {name: (turns[where], tokens[where]) for name, where in at.items()}


def saved(asked: Prompts, sessions: pd.DataFrame, full: pd.DataFrame) -> Saved | None:
    """Prompt tokens spared against `full`: pairs of one scenario and repeat, up to the turn that both reached.

    All calls count, auxiliary and probe calls included: what a strategy spends on summaries it has not saved. None
    without a pair whose tokens are all known.
    """
    pair = ["scenario", "repeat"]
    both = sessions[["session", "last_turn", *pair]].merge(full[["session", "last_turn", *pair]], on=pair)
    both = both.loc[both["last_turn_x"].notna() & both["last_turn_y"].notna()]
    upto = both[["last_turn_x", "last_turn_y"]].min(axis=1).astype(int).tolist()
    mine, theirs = (_prompt_tokens(asked, both[f"session_{side}"].tolist(), upto) for side in "xy")
    known = [(a, b) for a, b in zip(mine, theirs, strict=True) if a is not None and b]
    if not known:
        return None
    spent, would = sum(a for a, _ in known), sum(b for _, b in known)
    return Saved(share=1 - spent / would, prompt_tokens=spent, full_prompt_tokens=would, pairs=len(known))


def _prompt_tokens(asked: Prompts, names: Sequence[Any], upto: Sequence[int]) -> list[int | None]:
    """Prompt tokens of each session up to its turn; None where an answered call does not say, or none was answered."""
    found: list[int | None] = []
    for name, last in zip(names, upto, strict=True):
        turns, tokens = asked.get(name, ((), ()))
        mine = [float(n) for turn, n in zip(turns, tokens, strict=True) if turn <= last]
        found.append(None if not mine or any(n != n for n in mine) else int(sum(mine)))
    return found


def _asking(verdicts: pd.DataFrame) -> pd.DataFrame:
    """The verdicts of checks that ask for an action."""
    return verdicts.loc[verdicts["asks_action"].fillna(False).astype(bool)]


def _tools_in(asking: pd.DataFrame, calls: pd.DataFrame) -> bool:
    """Whether there is anything to call, or something was called."""
    return bool(len(asking)) or bool(calls["tool_calls"].fillna(0).astype(bool).any())


def _basis(sessions: pd.DataFrame, verdicts: pd.DataFrame, calls: pd.DataFrame) -> tuple[pd.DataFrame, bool]:
    """The replies the call rate is over, and whether they are those to probes that ask for an action."""
    replies = _replies(sessions, calls)
    asked = _asked(replies, _asking(verdicts), calls)
    return (_of_turns(replies, verdicts, calls), False) if asked is None else (asked, True)


def _replies(sessions: pd.DataFrame, calls: pd.DataFrame) -> pd.DataFrame:
    """One row per answered turn or probe: session, turn, branch, called, third. Who was cut off short of a call is out.

    `third` is that of the planned turns: 0, 1, 2.
    """
    rows = calls.loc[calls["purpose"].isin(["turn", "probe"]), ["session", "turn", "branch", "tool_calls", "outcome"]]
    rows = rows.assign(
        session=rows["session"].astype(object),
        branch=rows["branch"].astype(object).fillna(""),
        called=rows["tool_calls"].fillna(0).astype(int) > 0,
        ok=rows["outcome"] == "ok",
    )
    found = rows.groupby(_WHERE, sort=False, as_index=False).agg(called=("called", "any"), ok=("ok", "all"))
    found = found.loc[found["called"] | found["ok"]]
    planned = sessions.set_index(sessions["session"].astype(object))["turns_planned"].astype(float)
    share = found["turn"].astype(float) / found["session"].map(planned).astype(float).clip(lower=1)
    return found.assign(third=(share > 1 / 3).astype(int) + (share > 2 / 3).astype(int))


def _asked(replies: pd.DataFrame, verdicts: pd.DataFrame, calls: pd.DataFrame) -> pd.DataFrame | None:
    """The replies to probes that ask for an action; None when none was answered."""
    found = replies.merge(_probed(verdicts, calls), on=_WHERE)
    return found if len(found) else None


def _of_turns(replies: pd.DataFrame, verdicts: pd.DataFrame, calls: pd.DataFrame) -> pd.DataFrame:
    """The replies to the session's own turns, without probes, inline or on a fork; all where there are no others."""
    marked = replies.merge(_probed(verdicts, calls), on=_WHERE, how="left", indicator="asked")
    found = replies.loc[((marked["asked"] == "left_only") & (marked["branch"] == "")).to_numpy()]
    return found if len(found) else replies


def _probed(verdicts: pd.DataFrame, calls: pd.DataFrame) -> pd.DataFrame:
    """Where these verdicts' probes were asked: session, turn, branch, each once."""
    graded = verdicts.loc[verdicts["kind"] == "probe", ["session", "call"]].dropna()
    graded = graded.assign(session=graded["session"].astype(object)).drop_duplicates()
    where = calls[["session", "call", "turn", "branch"]]
    where = where.assign(session=where["session"].astype(object), branch=where["branch"].astype(object).fillna(""))
    return graded.merge(where, on=["session", "call"])[_WHERE].drop_duplicates()


def _per_session(replies: pd.DataFrame, third: int) -> dict[Any, tuple[float, float]]:
    rows = replies.loc[replies["third"] == third]
    table = rows.groupby("session")["called"].agg(["sum", "size"])
    return {name: (float(a), float(n)) for name, a, n in zip(table.index, table["sum"], table["size"], strict=True)}


def _third(replies: pd.DataFrame, number: int) -> Third:
    rows = replies.loc[replies["third"] == number]
    counts = rows["called"].astype(int).groupby(rows["session"])
    share = _share(counts.sum(), counts.size()) or Share(None, 0, 0, 0, None, None)
    turns = [int(turn) for turn in (rows["turn"].min(), rows["turn"].max())] if len(rows) else None
    return Third(
        **{name: getattr(share, name) for name in Share.__slots__},
        label=THIRDS[number],
        first_turn=None if turns is None else turns[0],
        last_turn=None if turns is None else turns[1],
    )


def _steps(calls: pd.DataFrame) -> float | None:
    """Model calls per live turn, tool rounds included."""
    rows = calls.loc[calls["purpose"] == "turn"]
    turns = rows.groupby([rows["session"].astype(object), rows["turn"]]).ngroups if len(rows) else 0
    return _ratio(len(rows), turns)


def _share(count: Any, n: Any) -> Share | None:
    """Pooled count ÷ n over sessions (entries), with a session-level interval; None when n is 0 everywhere."""
    from contextrot.analysis.curves import session_interval

    counts, sizes = (side.to_numpy(dtype=float, na_value=0.0) for side in (count, n))
    counts, sizes = counts[sizes > 0], sizes[sizes > 0]
    if not len(sizes):
        return None
    low, high, method = session_interval(counts, sizes)
    known = method != "none"
    return Share(
        share=float(counts.sum() / sizes.sum()),
        count=int(counts.sum()),
        n=int(sizes.sum()),
        sessions=len(sizes),
        low=low if known else None,
        high=high if known else None,
    )


def _points(rows: pd.DataFrame, by: str) -> list[Point]:
    table = compliance(rows[["session", "outcome", by]], by)
    return [Point.of(row, float(row[by]), str(row[by])) for row in table.to_dict("records")]


def _outcome(passed: pd.Series[Any]) -> pd.Series[Any]:
    return passed.map({True: "pass", False: "fail"})


def _ratio(count: Any, n: Any) -> float | None:
    return float(count) / float(n) if n and n == n else None
