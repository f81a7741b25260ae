"""What the health report and the conditions learn of rounds, declarations and workers."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from validator.conditions import Board, Declared, SeenRound
from validator.protocol.reasons import Reason
from validator.rounds.listening import EndedRound
from validator.rounds.prepare import Prepared
from validator.sources import Clock
from validator.web.state import HealthState
from validator.workers.interface import Workers

_EVERY_S: Final = 5.0
_BEHIND_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class GateWatch:
    """Looks whether answers wait long for a worker; a service of the daemon."""

    workers: Workers
    clock: Clock
    board: Board

    async def run(self) -> None:
        """Look all the time."""
        while True:
            waited = self.workers.behind_s
            if waited > _BEHIND_S:
                self.board.raise_("gates_behind", f"one has waited for {waited:.0f} s")
            else:
                self.board.clear("gates_behind")
            await self.clock.sleep(_EVERY_S)


@dataclass(slots=True)
class RoundWatch:
    """Tells the health report and the board about every round that starts or ends.

    Args:
        health: told of the round in hand and its longest deadline.
        board: shown each round in numbers.
    """

    health: HealthState
    board: Board
    _declared: Declared | None = field(init=False, default=None)
    _prepared: Prepared | None = field(init=False, default=None)

    def declared(self, declared: Declared) -> None:
        """Note what the miners were last found to declare."""
        self._declared = declared

    def started(self, prepared: Prepared) -> None:
        """Note the round in hand with its longest deadline."""
        self._prepared = prepared
        deadline = max(task.windows.of("primary").deadline for task in prepared.frozen.tasks)
        self.health.round_started(prepared.frozen.round_id, deadline)

    def ended(self, end: EndedRound) -> None:
        """Note its end."""
        prepared, self._prepared = self._prepared, None
        self.health.round_ended(end.round_id)
        self.board.saw_round(_seen(end, prepared, self._declared))


def _seen(end: EndedRound, prepared: Prepared | None, declared: Declared | None) -> SeenRound:
    if prepared is None or prepared.frozen.round_id != end.round_id:
        return SeenRound(end.reason, end.seconds, declared=declared)
    judged = end.returned.judged if end.returned else {}
    tasks = {task.task_id: task for task in prepared.frozen.tasks}
    early = {task_id for (task_id, _), one in judged.items() if one.reason == Reason.ACCEPTED_EARLY}
    return SeenRound(
        reason=end.reason,
        seconds=end.seconds,
        tasks=sum(not task.made_here for task in tasks.values()),
        miners=len(prepared.frozen.miners),
        dispatches=sum(len(group.members) for group in prepared.plan.groups),
        answers=Counter(one.reason for one in judged.values()),
        t_min={str(tasks[task_id].skill_type): tasks[task_id].windows.of("primary").t_min for task_id in sorted(early)},
        declared=declared,
    )
