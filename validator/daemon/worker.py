"""Body of `validator worker`: settings in, a process that does waiting work until a stop is requested."""

import asyncio
import fcntl
import os
import re
import socket
import tempfile
from collections.abc import Collection, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import structlog

from sssa.protocol.waiting_work import CODE, EXECUTIONS
from sssa.sources import Clock, SystemClock
from validator import __version__
from validator.cancellation import ended, run_whole
from validator.daemon.allocator import settle_allocator
from validator.daemon.exits import Exit
from validator.daemon.signals import Signals, Stop, StoppedAtStartError
from validator.daemon.watches import BudgetService
from validator.daemon.world import judging_workers
from validator.health.board import Board
from validator.sandbox.code_containers import ContainerCodeSandbox
from validator.sandbox.containers import open_sandbox
from validator.sandbox.interface import CodeSandbox, Sandbox
from validator.settings.model import Settings
from validator.store import Store, open_store
from validator.store.identity import require_known_version
from validator.telemetry import Event, configure_logging
from validator.waiting.code_checks import CodeWork
from validator.waiting.engine_watch import SandboxWatch, note_code
from validator.waiting.executions import ExecutionWork
from validator.waiting.job_queue import open_queue
from validator.waiting.life_cycle import QueueSettingsError
from validator.workers.interface import Workers

if TYPE_CHECKING:
    from validator.waiting.jobs import JobQueue
    from validator.waiting.worker import QueueWorker

CONNECTIONS: Final = 2
"""That a worker has to the store; as many to the queue, and one for notices of jobs."""
KINDS: Final = (EXECUTIONS, CODE)
"""The kinds of work that a worker can do."""
_SLOTS: Final = 1_000
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Outfit:
    """One worker process.

    Attributes:
        name: as the validator shows it.
        concurrency: so many tries at the same time.
        sandbox: where strangers' images run; None where no kind needs it.
        code: where the code of plans is judged; None where no kind needs it.
        heartbeat_s: between two signs of life; far less than the validator takes a worker for lost after.
    """

    name: str
    url: str
    kinds: Collection[str]
    concurrency: int
    sandbox: Sandbox | None
    heartbeat_s: float = 10.0
    code: CodeSandbox | None = None


def run_worker(settings: Settings, kinds: Collection[str], concurrency: int, signals: Signals) -> int:
    """Do waiting work until SIGTERM or SIGINT and return the exit code; the wallet and the chain are not used.

    Raises:
        StoppedAtStartError: a signal came before the start was complete.
        ValidatorError: the worker cannot start; the text says why.
    """
    settle_allocator()
    configure_logging(settings.log.level, settings.log.format, rooms=settings.log.rooms)
    name = own_name()
    sandbox = open_sandbox(settings.sandbox, name)
    if sandbox is None:
        raise QueueSettingsError(
            f"{', '.join(kinds)} need a container engine: name it in sandbox.engine or DOCKER_HOST"
        )
    code = ContainerCodeSandbox(sandbox) if CODE in kinds else None
    store = settings.store
    outfit = Outfit(name, store.url.reveal(), kinds, concurrency, sandbox, code=code)
    return run_whole(serve(outfit, signals))


async def serve(outfit: Outfit, signals: Signals) -> int:
    """Do waiting work until a signal asks to stop; return the exit code.

    Raises:
        StoppedAtStartError, ValidatorError: as `run_worker`.
    """
    signals.starting()
    clock = SystemClock()
    began = clock.monotonic()
    try:
        async with AsyncExitStack() as stack:
            if outfit.sandbox is not None:
                stack.push_async_callback(outfit.sandbox.close)
            judging = judging_workers()
            stack.push_async_callback(judging.close)
            opening = open_queue(outfit.url, make=False, connections=CONNECTIONS)
            store = await stack.enter_async_context(open_store(outfit.url, connections=CONNECTIONS))
            async with store.read() as tx:
                await require_known_version(tx)
            jobs = await stack.enter_async_context(opening)
            from validator.waiting.worker import GRACE_S  # noqa: PLC0415 - of the extra `scale`

            workers = _workers(outfit, store, clock, jobs, judging)
            signals.started(GRACE_S)
            _log.info(
                Event.WORKER_STARTED,
                version=__version__,
                name=outfit.name,
                queues=sorted(outfit.kinds),
                concurrency=outfit.concurrency,
            )
            await _until_stopped(workers, BudgetService(judging), signals.stop)
    except asyncio.CancelledError:
        if signals.stopped_at_start:
            raise StoppedAtStartError from None
        raise
    _log.info(
        Event.WORKER_STOPPED,
        name=outfit.name,
        done=sum(one.done for one in workers),
        seconds=round(clock.monotonic() - began, 3),
    )
    return Exit.FINE


def own_name() -> str:
    """Return a name that is unique among worker processes of this machine, and used again after this one."""
    host = re.sub(r"[^A-Za-z0-9.-]", "-", socket.gethostname())[:200]
    for slot in range(_SLOTS):
        path = Path(tempfile.gettempdir()) / f"validator-worker-{os.getuid()}-{slot}.lock"
        file = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            continue
        return f"{host}-{slot}"  # the lock stays until the process ends
    raise QueueSettingsError(f"{_SLOTS} workers run on this machine already")


def _workers(outfit: Outfit, store: Store, clock: Clock, jobs: "JobQueue", judging: Workers) -> "Sequence[QueueWorker]":
    """Return one worker for executions and one for code checks; each has its own condition."""
    from validator.waiting.worker import QueueWorker  # noqa: PLC0415 - of the extra `scale`

    make = partial(
        QueueWorker,
        store=store,
        clock=clock,
        jobs=jobs,
        name=outfit.name,
        concurrency=outfit.concurrency,
        heartbeat_s=outfit.heartbeat_s,
    )
    board, workers = Board(clock), []
    if outfit.sandbox is not None and EXECUTIONS in outfit.kinds:
        fit = SandboxWatch(outfit.sandbox, clock, board).fit
        executions = ExecutionWork(store, outfit.sandbox, judging, board)
        workers.append(make(works=[executions], fit=fit, able=lambda: not board.is_active("sandbox_away")))
    if outfit.code is not None:
        fit = SandboxWatch(outfit.code, clock, board, note_code).fit
        code = CodeWork(store, outfit.code, clock, board)
        workers.append(make(works=[code], fit=fit, able=lambda: not board.is_active("code_waits")))
    return workers


async def _until_stopped(workers: "Sequence[QueueWorker]", budget: BudgetService, stop: Stop) -> None:
    learning = asyncio.create_task(budget.run())
    working = asyncio.gather(*(worker.run(stop.requested) for worker in workers))  # over when the last one is
    at_once = asyncio.create_task(stop.at_once.wait())
    either: set[asyncio.Future[Any]] = {working, at_once}
    try:
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        for worker in workers:
            worker.cut_off()
        await working
    finally:
        await ended((learning, at_once))
