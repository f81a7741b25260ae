"""What a validator without a sandbox for code says of the code that it cannot judge (SPEC 12)."""

import contextlib
from dataclasses import dataclass
from typing import Final

from validator.health.board import Board
from validator.sources import Clock
from validator.store import Store
from validator.store.errors import StoreAwayError
from validator.tasks.goals import GoalSource

_EVERY_S: Final = 600.0
_SHOWN: Final = 3
_GOAL: Final = 60  # code points of each


@dataclass(frozen=True, slots=True)
class UnjudgedWatch:
    """Looks now and then which tasks cannot be judged, and how many plans wait; a service of the daemon.

    Args:
        goals, store, clock: what it looks at, and when.
        board: told, `code_off`.
    """

    goals: GoalSource
    store: Store
    clock: Clock
    board: Board

    async def run(self) -> None:
        """Look all the time. A store that is away has a condition of its own."""
        while True:
            with contextlib.suppress(StoreAwayError):
                await self.look()
            await self.clock.sleep(_EVERY_S)

    async def look(self) -> None:
        """Look once.

        Raises:
            StoreError: the store cannot be read.
        """
        found = [task.goal for task in await self.goals.all() if task.type == "code"]
        async with self.store.read() as tx:
            waiting = await tx.code_checks.unended()
        if not found and not waiting:
            self.board.clear("code_off")
            return
        named = "; ".join(goal[:_GOAL] for goal in found[:_SHOWN])
        more = "; …" if len(found) > _SHOWN else ""
        self.board.raise_(
            "code_off", f"tasks that cannot be judged: {len(found)} ({named}{more}); plans that wait: {waiting}"
        )
