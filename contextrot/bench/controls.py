"""The controls: each probe in a session of its own, its rule stated right before it (ceiling) or never (floor).

Rot is measured against the ceiling. A probe that passes its floor tests nothing. Controls depend on no strategy, so
they are asked once per scenario × model × repeat.
"""

from __future__ import annotations

from contextrot.bench.grading import judge, verdict_record
from contextrot.bench.session import Line, Session
from contextrot.log import Log
from contextrot.messages import system, user
from contextrot.scenario.script import Control


class ControlSession(Session):
    """Asks every control question of a script, each on a log of its own."""

    async def _replay(self) -> None:
        for control in self.script.controls:
            await self._control(control)

    async def _control(self, control: Control) -> None:
        line = Line(Log(self.caller.counter.message), f"{control.kind}:{control.id}")
        if control.system is not None:
            self._append(line, system(control.system), "system")
        self._append(line, user(control.text), "probe")
        hint = self.hints.build([control.evidence], [control.check], control.facts) if self.plan.simulated else None
        replies, answer, _view = await self._converse(line, "control", hint)
        self.caller.file.emit(
            verdict_record(
                judge(replies, control.check, control.facts),
                kind=control.kind,
                id_=control.id,
                check=control.check,
                turn=0,
                branch=line.branch,
                subject_id=control.subject_id,
                call=answer.n,
            )
        )
