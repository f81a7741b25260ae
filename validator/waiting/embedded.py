"""The embedded worker: does waiting work in the validator's own process, a bounded number of pieces at a time."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import structlog

from sssa.protocol.reasons import Reason
from sssa.sources import Clock
from validator.cancellation import complete
from validator.store import Store
from validator.store.errors import StoreAwayError, StoreLostError
from validator.telemetry import Event
from validator.telemetry.repetition import Once, place_of
from validator.waiting.life_cycle import Tries, Work

AT_ONCE: Final = 2
_LOOK_S: Final = 5.0
_log = structlog.get_logger()


@dataclass(slots=True)
class EmbeddedWorker:
    """The worker in the validator's process: what waits, several at a time, kinds in turn, fair between miners.

    What was running when the process was killed is tried again, and counts as a try. An orderly stop puts it back.
    """

    store: Store
    clock: Clock
    works: Sequence[Work[Any]]
    at_once: int = AT_ONCE
    _tries: Tries = field(init=False)
    _logged: Once = field(init=False)
    _turn: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self._tries = Tries(self.store, self.clock)
        self._logged = Once(self.clock)

    async def run(self) -> None:
        """Put back what a crash left running, then work until cancelled.

        Raises:
            StoreLostError: the store must not be used any more.
        """
        for work in self.works:
            await self._unless_away(work, self._take_back)
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self.at_once):
                    group.create_task(self._work())
        except asyncio.CancelledError:
            with suppress(StoreAwayError):  # then the next start takes it back
                await complete(self._hand_back())
            raise

    async def one(self) -> bool:
        """Try the next piece that is due; return whether there was one."""
        for _ in self.works:
            self._turn = (self._turn + 1) % len(self.works)
            if await self._unless_away(self.works[self._turn], self._one):
                return True
        return False

    async def _hand_back(self) -> None:
        for work in self.works:
            async with self.store.read() as tx:
                running = await work.kind.queue(tx).running()
            for taken in running:
                await self._tries.hand_back(work.kind, taken)

    async def _work(self) -> None:
        while True:
            if not await self.one():
                await self.clock.sleep(_LOOK_S)

    async def _take_back(self, work: Work[Any]) -> bool:
        while True:
            try:
                await self._tries.take_back(work.kind)
            except StoreAwayError:  # later nobody could tell what a crash left from what runs
                await self.clock.sleep(_LOOK_S)
            else:
                return True

    async def _one(self, work: Work[Any]) -> bool:
        async with self.store.read() as tx:
            due = await work.kind.queue(tx).next_due()
        if due is None or due > self.clock.now():
            return False
        async with self.store.begin() as tx:
            taken = await work.kind.queue(tx).take(self.clock.now())
        if taken is None:
            return False
        try:
            await self._tries.make(work, taken)
        except StoreAwayError:
            await self._tries.hand_back(work.kind, taken, patience_s=None)  # until the next start nobody else would
            raise
        return True

    async def _unless_away(self, work: Work[Any], step: Callable[[Work[Any]], Awaitable[bool]]) -> bool:
        """Return the result of the step; an internal error is logged once per change and counts as False."""
        try:
            return await step(work)
        except StoreLostError:
            raise
        except StoreAwayError:
            return False  # the board has it
        except Exception as error:  # noqa: BLE001 - one piece must not end the others
            repeats = self._logged.fresh(place_of(error))
            if repeats is not None:
                _log.exception(Event.WORK_FAILED, kind=work.kind.name, reason=Reason.BUG_INTERNAL, repeats=repeats)
            return False
