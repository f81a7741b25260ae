"""Who does the work that waits in the store: the validator's own process, or workers that its queue tells of it."""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any

from validator.daemon.daemon import Service
from validator.daemon.queue_watch import QueueWatch
from validator.daemon.unjudged import UnjudgedWatch
from validator.daemon.world import World
from validator.health.report import HealthState
from validator.settings import Settings
from validator.store import Store
from validator.telemetry import Metrics
from validator.waiting.code_checks import CodeWork
from validator.waiting.embedded import AT_ONCE, EmbeddedWorker
from validator.waiting.engine_watch import SandboxWatch
from validator.waiting.executions import ExecutionWork
from validator.waiting.job_queue import open_queue
from validator.waiting.life_cycle import CODE_KIND, EXECUTION_KIND, Work


def executes(settings: Settings, world: World) -> bool:
    """Whether the bundles of runtime types are executed: here, or by worker processes."""
    return world.sandbox is not None or settings.queue.backend == "postgres"


async def waiting_work(  # noqa: PLR0913, PLR0917 - the parts of which they are made
    settings: Settings, world: World, store: Store, metrics: Metrics, health: HealthState, stack: AsyncExitStack
) -> Sequence[Service]:
    """Return the services that see to waiting work; what they hold is closed with the stack.

    Raises:
        QueueError: the queue cannot be used; the text says why.
    """
    if settings.queue.backend == "postgres":
        jobs = await stack.enter_async_context(open_queue(settings.store.url.reveal(), make=True))
        from validator.waiting.sweep import Sweep  # noqa: PLC0415 - it brings what the extra `scale` installs

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
        services.append(SandboxWatch(code, world.clock, board, "code_waits"))
    else:
        services.append(UnjudgedWatch(world.goals, store, world.clock, board))
    return (*services, EmbeddedWorker(store, world.clock, works, AT_ONCE)) if works else services
