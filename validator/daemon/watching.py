"""What the health report and the conditions learn of rounds, declarations and workers."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from validator.health.board import Board
from validator.health.report import HealthState
from validator.miners.directory import Declared
from validator.protocol.reasons import Reason
from validator.rounds.facts import facts_of
from validator.rounds.listening import EndedRound
from validator.rounds.prepare import Prepared
from validator.sources import Clock
from validator.telemetry import Metrics
from validator.weights.pay_watch import PayWatch
from validator.workers.interface import Workers

_EVERY_S: Final = 5.0
_BEHIND_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class GateWatch:
    """Looks whether answers wait long for a worker; a service of the daemon."""

    workers: Workers
    clock: Clock
    health: HealthState

    async def run(self) -> None:
        """Look all the time."""
        board = self.health.board
        while True:
            waited = self.workers.behind_s
            self.health.saw("workers", waits_s=round(waited, 3))
            if waited > _BEHIND_S:
                board.raise_("gates_behind", f"one has waited for {waited:.0f} s")
            else:
                board.clear("gates_behind")
            await self.clock.sleep(_EVERY_S)


@dataclass(slots=True)
class RoundWatch:
    """Tells the health report and the board about every round that starts or ends.

    Args:
        health: told of the round in hand, its longest deadline and what it came to.
        board: shown each round in numbers.
        metrics: told of the declarations that a round was frozen with.
        pay: told that a round has ended.
    """

    health: HealthState
    board: Board
    metrics: Metrics
    pay: PayWatch
    _without: int = field(init=False, default=0)
    _declared: Declared | None = field(init=False, default=None)
    _prepared: Prepared | None = field(init=False, default=None)

    def declared(self, declared: Declared) -> None:
        """Note what the miners were last found to declare."""
        self._declared = declared
        self.health.saw("declarations", asked=declared.asked, valid=declared.valid, refused=dict(declared.refused))

    def standing(self, missing: Reason | None, paused: bool) -> None:
        """Note what the hotkey lacks on the subnet, and whether rounds wait for it."""
        self.health.saw_standing(missing, paused)
        self.metrics.permit.set(missing is None)

    def started(self, prepared: Prepared) -> None:
        """Note the round in hand with its longest deadline."""
        self._prepared = prepared
        self.metrics.declare(Counter(str(one) for miner in prepared.frozen.miners for one in miner.skill_types))
        deadline = max(task.windows.of("primary").deadline for task in prepared.frozen.tasks)
        self.health.round_started(prepared.frozen.round_id, deadline)

    def ended(self, end: EndedRound) -> None:
        """Note its end."""
        prepared, self._prepared = self._prepared, None
        self.health.round_ended(end.round_id)
        seen = facts_of(end, prepared, self._declared)
        self._without = 0 if seen.dispatches else self._without + 1
        self.health.saw("dispatches", last_round=seen.dispatches, rounds_without=self._without)
        if seen.dispatches:
            self.health.saw("answers", sent=seen.dispatches, passed=seen.passed, early=seen.early)
        self.board.saw_round(seen)
        if prepared is not None:
            self.pay.round_ended(prepared.frozen.snapshot)
