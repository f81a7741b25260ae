"""Services of waiting work (executions, code checks) in the daemon: embedded or queued, and the watches over them."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sssa.protocol.execution import WORK_STATES
from sssa.sources import Clock
from validator.daemon.daemon import Service
from validator.daemon.world import World
from validator.health.board import Board
from validator.health.report import HealthState
from validator.store import Store
from validator.store.errors import StoreAwayError
from validator.tasks.goals import GoalSource
from validator.telemetry.metrics import Metrics
from validator.waiting.code_checks import CodeWork
from validator.waiting.embedded import AT_ONCE, EmbeddedWorker
from validator.waiting.engine_watch import SandboxWatch, note_code
from validator.waiting.executions import ExecutionWork
from validator.waiting.life_cycle import CODE_KIND, EXECUTION_KIND, Work

_QUEUE_EVERY_S: Final = 10.0
_DAY: Final = timedelta(days=1)
_UNJUDGED_EVERY_S: Final = 600.0
_SHOWN: Final = 3
_GOAL: Final = 60  # code points of each


@dataclass(frozen=True, slots=True)
class QueueWatch:
    """Watch on executions and code checks; a service of the daemon.

    Args:
        at_once: how many executions this process tries at a time; 0: there is no sandbox.
        code_at_once: the same of code checks.
        elsewhere: how many tries of a kind worker processes make at a time; None: it is not theirs to do.
    """

    store: Store
    clock: Clock
    health: HealthState
    metrics: Metrics
    at_once: int
    code_at_once: int = 0
    elsewhere: Callable[[str], int] | None = None

    async def run(self) -> None:
        """Look until cancelled. A store outage has its own condition."""
        if not self.at_once and self.elsewhere is None:
            self.health.board.raise_("executions_off")
        while True:
            with contextlib.suppress(StoreAwayError):
                await self.look()
            await self.clock.sleep(_QUEUE_EVERY_S)

    async def look(self) -> None:
        """Look once (StoreError: the store cannot be read)."""
        async with self.store.read() as tx:
            executions = await tx.executions.counts(), await tx.executions.oldest()
            late, ended = await tx.executions.late_share(self.clock.now() - _DAY)
            checks = await tx.code_checks.counts(), await tx.code_checks.oldest()
        self._tell("code", *checks, self._at_once("code", self.code_at_once))
        self._tell("executions", *executions, self._at_once("executions", self.at_once))
        many = (self.at_once or self.elsewhere) and 3 * late > ended
        self.health.board.mark("executions_late", f"{late} of {ended} in the last 24 hours" if many else None)

    def _at_once(self, kind: str, here: int) -> int:
        return here if self.elsewhere is None else self.elsewhere(kind)

    def _tell(self, kind: str, counts: Mapping[str, int], oldest: datetime | None, at_once: int) -> None:
        """Report the state of one kind."""
        states = {state: counts.get(state, 0) for state in WORK_STATES}
        waited = None if oldest is None else round((self.clock.now() - oldest).total_seconds(), 3)
        self.health.record(kind, **states, oldest_s=waited, at_once=at_once)
        self.metrics.queue(kind, states, waited or 0.0, at_once)


@dataclass(frozen=True, slots=True)
class UnjudgedWatch:
    """Watch on tasks that cannot be judged and plans that wait; a service of the daemon."""

    goals: GoalSource
    store: Store
    clock: Clock
    board: Board

    async def run(self) -> None:
        """Look until cancelled. A store outage has its own condition."""
        while True:
            with contextlib.suppress(StoreAwayError):
                await self.look()
            await self.clock.sleep(_UNJUDGED_EVERY_S)

    async def look(self) -> None:
        """Look once (StoreError: the store cannot be read)."""
        goals = [task.goal for task in await self.goals.all() if task.type == "code"]
        async with self.store.read() as tx:
            waiting = await tx.code_checks.unended()
        if not goals and not waiting:
            self.board.clear("code_off")
            return
        named = "; ".join(goal[:_GOAL] for goal in goals[:_SHOWN])
        more = "; …" if len(goals) > _SHOWN else ""
        self.board.raise_(
            "code_off", f"tasks that cannot be judged: {len(goals)} ({named}{more}); plans that wait: {waiting}"
        )


def executes(world: World) -> bool:
    """Return whether the bundles of runtime types are executed: here, or by worker processes."""
    return world.sandbox is not None or world.queue is not None


async def waiting_work(
    world: World, store: Store, metrics: Metrics, health: HealthState, stack: AsyncExitStack
) -> Sequence[Service]:
    """Return the services of waiting work; the stack closes their resources.

    Raises:
        QueueError: the queue cannot be used; the text says why.
    """
    if world.queue is not None:
        jobs = await stack.enter_async_context(world.queue())
        from validator.waiting.jobs import Sweep  # noqa: PLC0415 - it brings what the extra `scale` installs

        sweep = Sweep(store, world.clock, jobs, (EXECUTION_KIND, CODE_KIND), health.board)
        return (QueueWatch(store, world.clock, health, metrics, at_once=0, elsewhere=sweep.at_once), sweep)
    return _embedded(world, store, metrics, health)


def _embedded(world: World, store: Store, metrics: Metrics, health: HealthState) -> Sequence[Service]:
    board, sandbox, code = health.board, world.sandbox, world.code
    at_once, code_at_once = AT_ONCE if sandbox else 0, AT_ONCE if code else 0
    works: list[Work[Any]] = []
    services: list[Service] = [
        QueueWatch(store, world.clock, health, metrics, at_once=at_once, code_at_once=code_at_once)
    ]
    if sandbox is not None:
        works.append(ExecutionWork(store, sandbox, world.workers, board))
        services.append(SandboxWatch(sandbox, world.clock, board))
    if code is not None:
        works.append(CodeWork(store, code, world.clock, board))
        services.append(SandboxWatch(code, world.clock, board, note_code))
    else:
        services.append(UnjudgedWatch(world.goals, store, world.clock, board))
    return (*services, EmbeddedWorker(store, world.clock, works, AT_ONCE)) if works else services
