"""Storing answers as they arrive: those that come while others are stored go into the next transaction together.

A transaction costs the same for one answer as for fifty, and each waits for the disk. None is judged before it is
stored, and what is stored exists after kill -9: an answer waits for no others that may still come.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple

from sssa.protocol.dispatch_record import Arrival, DispatchKey, Failure
from sssa.protocol.results import RawAnswer
from validator.outgoing.calls import Body
from validator.store import Store, Transaction
from validator.store.codec import compressed
from validator.store.errors import AlreadySettledError, WrongStateError

_MOST: Final = 64
_MOST_BYTES: Final = 1024 * 1024  # of bodies in one transaction, unless the first alone is larger


class Received(NamedTuple):
    """A received answer: as `Arrival`, with the body not compressed yet."""

    key: DispatchKey
    seconds: float
    status: int
    body: Body
    received_at: datetime
    stalled: float
    raw: RawAnswer | None


@dataclass(slots=True, eq=False)
class _Waiting:
    one: Received | Failure
    kept: bool = False


@dataclass(slots=True)
class AnswerStorage:
    """Stores the answers of one round, and which of its dispatches got none.

    However many wait for the store, those of one transaction are in memory; of the others what `MEMORY_LIMIT` allows
    each, and the rest in temporary files.
    """

    store: Store
    _waiting: deque[_Waiting] = field(default_factory=deque)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def keep(self, arrived: Received | Failure) -> None:
        """Return once the answer is stored, or that there was none.

        Raises:
            StoreError: as `Store.lasting`; and where this answer, whatever the others are, cannot be stored.
        """
        one = _Waiting(arrived)
        self._waiting.append(one)
        try:
            async with self._turn:
                if not one.kept:
                    await self._keep_some(one)
        finally:
            if not one.kept:
                self._waiting.remove(one)

    async def _keep_some(self, first: _Waiting) -> None:
        """Store this answer, and with it those that wait behind it."""
        some = self._some(first)
        rows = await asyncio.to_thread(_packed, [one.one for one in some])
        try:
            await self._store(rows)
        except (AlreadySettledError, WrongStateError):
            if len(some) == 1:
                raise
            some = some[:1]  # what is wrong with one of them must not cost the others anything
            await self._store(rows[:1])
        for one in some:
            one.kept = True
            self._waiting.remove(one)

    async def _store(self, rows: Sequence[Arrival | Failure]) -> None:
        answers = [row for row in rows if isinstance(row, Arrival)]
        failures = [row for row in rows if isinstance(row, Failure)]

        async def write(tx: Transaction) -> None:
            if answers:
                await tx.arrivals.keep(answers)
            if failures:
                await tx.arrivals.failed(failures)

        await self.store.lasting(write)

    def _some(self, first: _Waiting) -> list[_Waiting]:
        some, size = [first], _size(first)
        for one in self._waiting:
            if one is first:
                continue
            size += _size(one)
            if len(some) == _MOST or size > _MOST_BYTES:
                break
            some.append(one)
        return some


def _size(waiting: _Waiting) -> int:
    return waiting.one.body.size if isinstance(waiting.one, Received) else 0


def _packed(some: Sequence[Received | Failure]) -> list[Arrival | Failure]:
    return [one if isinstance(one, Failure) else _arrival(one) for one in some]


def _arrival(one: Received) -> Arrival:
    packed = compressed(one.body.read())
    return Arrival(one.key, one.seconds, one.status, packed, one.body.size, one.received_at, one.stalled, one.raw)
