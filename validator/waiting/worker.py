"""A worker in its own process, `validator worker`: takes jobs from the queue and makes the tries that they name."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import structlog
from procrastinate.worker import Worker

from sssa.protocol.reasons import Reason
from sssa.sources import Clock
from validator.cancellation import complete, ended, unless_set
from validator.store import PATIENCE_S, Store
from validator.store.errors import StoreAwayError
from validator.telemetry import Event
from validator.telemetry.repetition import Once, place_of
from validator.waiting.jobs import STALLED_S, JobQueue, LiveWorker
from validator.waiting.life_cycle import QueueAwayError, Tries, Work

GRACE_S: Final = 180.0
"""How long tries may continue after a request to stop: longer than an image may run."""
_POLL_S: Final = 5.0
_LOOK_S: Final = 30.0
_AGAIN_S: Final = 5.0
_ALIVE_S: Final = 60.0
_START_S: Final = 0.05
_END_S: Final = 2.0
_log = structlog.get_logger()


async def _always() -> bool:
    return True


@dataclass(slots=True)
class QueueWorker:
    """A worker process's tries, several at a time, as long as it can.

    A try that is cut off is handed back; one of a process that dies is seen to by the validator. While the worker is
    not fit it takes nothing.

    Args:
        name: as the validator shows it.
        concurrency: so many tries at the same time.
        works: kinds of waiting work, whose names differ.
        fit: looks whether it could do the work now; asked before it takes jobs.
        able: whether nothing has shown since that it cannot; asked after each try.
        grace_s: how long tries may continue after a request to stop.
        heartbeat_s: between two signs of life.
    """

    store: Store
    clock: Clock
    jobs: JobQueue
    name: str
    concurrency: int
    works: Sequence[Work[Any]] = ()
    fit: Callable[[], Awaitable[bool]] = _always
    able: Callable[[], bool] = lambda: True
    grace_s: float = GRACE_S
    heartbeat_s: float = 10.0
    done: int = field(init=False, default=0)
    _in_hand: set[asyncio.Task[None]] = field(init=False, default_factory=set)
    _worker: Worker | None = field(init=False, default=None)
    _tries: Tries = field(init=False)
    _logged: Once = field(init=False)

    def __post_init__(self) -> None:
        self._tries = Tries(self.store, self.clock)
        self._logged = Once(self.clock)
        for work in self.works:
            self._take_on(work.kind.name, partial(self._make, work))

    @property
    def queues(self) -> tuple[str, ...]:
        """The kinds of work that it does."""
        return tuple(work.kind.name for work in self.works)

    async def run(self, stop: asyncio.Event) -> None:
        """Work until a stop is requested and the pieces in hand have ended."""
        alive = asyncio.create_task(self._log_alive())
        try:
            while not stop.is_set():
                if not await self.fit():
                    await unless_set(stop, lambda: self.clock.sleep(_LOOK_S))
                    continue
                try:
                    await self._take_jobs(stop)
                except Exception as error:
                    self._log_error(error)
                    task = asyncio.current_task()
                    if task is not None and task.cancelling():  # the library's end failed, and raised that instead
                        raise asyncio.CancelledError from error
                    await unless_set(stop, lambda: self.clock.sleep(_AGAIN_S))
        finally:
            alive.cancel()

    def cut_off(self) -> None:
        """Hand back at once what is in hand."""
        for task in self._in_hand:
            task.cancel()

    async def _take_jobs(self, stop: asyncio.Event) -> None:
        """Take jobs until a stop is requested or the engine is unfit; return once all taken jobs have ended."""
        self._worker = worker = Worker(
            self.jobs.app,
            queues=list(self.queues),
            name=self.name,
            concurrency=self.concurrency,
            fetch_job_polling_interval=_POLL_S,
            abort_job_polling_interval=_ALIVE_S,
            shutdown_graceful_timeout=self.grace_s,
            delete_jobs="always",
            install_signal_handlers=False,
            update_heartbeat_interval=self.heartbeat_s,
            stalled_worker_timeout=STALLED_S,
        )
        over = asyncio.Event()
        showing = asyncio.create_task(self._show(worker, over))
        watching = asyncio.create_task(self._watch(worker, stop))
        try:
            await worker.run()
        finally:
            self._worker = None
            over.set()
            await asyncio.wait({showing}, timeout=_END_S)  # a statement that is cancelled costs its connection
            await ended({showing, watching})

    async def _watch(self, worker: Worker, stop: asyncio.Event) -> None:
        await stop.wait()
        worker.stop()

    async def _show(self, worker: Worker, over: asyncio.Event) -> None:
        """Give signs of life, next to the library's own also while it stops and while the database was away."""
        while not over.is_set():
            if worker.worker_id is None:
                await unless_set(over, lambda: asyncio.sleep(_START_S))
                continue
            with suppress(QueueAwayError):
                shown = LiveWorker(self.name, self.queues, self.concurrency, len(self._in_hand), self.done, 0.0)
                if not await self.jobs.present(worker.worker_id, shown):
                    worker.stop()  # taken for lost: it begins anew
            await unless_set(over, lambda: asyncio.sleep(self.heartbeat_s))

    def _take_on(self, kind: str, do: Callable[..., Coroutine[Any, Any, None]]) -> None:
        async def make(**arguments: Any) -> None:
            trying = asyncio.create_task(do(**arguments))
            self._in_hand.add(trying)
            trying.add_done_callback(self._in_hand.discard)
            await trying
            if self._worker is not None and not self.able():
                self._worker.stop()

        self.jobs.app.task(name=kind, queue=kind)(make)

    async def _make(self, work: Work[Any], work_id: str, attempt: int) -> None:
        taken = None

        async def claim() -> None:
            nonlocal taken
            taken = await self.store.lasting(
                lambda tx: work.kind.queue(tx).claim(work_id, attempt, self.clock.now()), patience_s=PATIENCE_S
            )

        try:
            await complete(claim())  # cut off, it could be in the store all the same, and nobody would hand it back
            if taken is not None:
                await self._tries.make(work, taken)
                self.done += 1
        except asyncio.CancelledError:
            if taken is not None:
                with suppress(StoreAwayError):
                    await complete(self._tries.hand_back(work.kind, taken))
            raise
        except Exception as error:  # noqa: BLE001 - it is written down, and must not end the others
            self._log_error(error)

    def _log_error(self, error: Exception) -> None:
        if isinstance(error, QueueAwayError | StoreAwayError):
            return
        repeats = self._logged.fresh(place_of(error))
        if repeats is not None:
            _log.error(Event.QUEUE_FAILED, reason=Reason.BUG_INTERNAL, repeats=repeats, exc_info=error)

    async def _log_alive(self) -> None:
        while True:
            await asyncio.sleep(_ALIVE_S)
            _log.info(
                Event.WORKER_ALIVE,
                name=self.name,
                queues=self.queues,
                ready=self._worker is not None,
                running=len(self._in_hand),
                done=self.done,
            )
