"""The controls: each probe in a session of its own, its rule stated right before it (ceiling) or never (floor).

Rot is measured against the ceiling. A probe that passes its floor tests nothing. Controls depend on no strategy, so
they are asked once per scenario × model × repeat.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from contextrot.bench.grading import verdict_record
from contextrot.bench.judging import SessionPanel, judged
from contextrot.bench.line import Line
from contextrot.bench.session import Session
from contextrot.errors import BudgetError, ContextOverflowError, ModelError
from contextrot.log import Log
from contextrot.messages import Reply, system, user
from contextrot.outcomes import Outcome, Verdict
from contextrot.scenario.script import Ask, Control


class ControlSession(Session):
    """Asks every control question of a script, each on a log of its own."""

    def _unasked(self) -> Iterator[Ask]:
        """A script's probes are not a control session's to ask."""
        return iter(())

    async def _replay(self) -> None:
        for control in self.script.controls:
            await self._control(control)

    async def _control(self, control: Control) -> None:
        line = Line(Log(self.caller.counter.message), control.branch)
        if control.system is not None:
            self._append(line, system(control.system), "system")
        self._append(line, user(control.text), "probe")
        hint = None
        if self.plan.simulated:
            hint = self.hints.build([control.evidence], [control.check], control.facts, control.bare)
        try:
            replies, answer, _view = await self._converse(line, "control", hint)
        except (BudgetError, ContextOverflowError) as error:  # the other controls may fit
            self._record(control, line, Verdict(Outcome.OVERFLOW, str(error)))
        except ModelError as error:
            self._record(control, line, Verdict(Outcome(error.outcome), str(error)))
            raise
        else:
            panel = SessionPanel(self.caller, 0, line.branch)
            verdict = await judged(replies, control.check, control.facts, question=control.text, panel=panel)
            self._record(control, line, verdict, answer.n, replies)

    def _record(
        self, control: Control, line: Line, verdict: Verdict, call: int | None = None, replies: Sequence[Reply] = ()
    ) -> None:
        record = verdict_record(verdict, control, turn=0, branch=line.branch, call=call, replies=replies)
        self.caller.file.emit(record)
