"""The records of ended rounds: written once, in the transaction that ends the round; read part by part."""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Final, TypeVar

import msgspec
from sqlalchemy import Select, bindparam, select

from validator.protocol import typed
from validator.protocol.round import RoundOutcome, RoundPlan
from validator.protocol.round.forms import read_outcome
from validator.store.errors import ArchivedError, DamagedError
from validator.store.record import Group, Head, Items, group_of, head_of
from validator.store.repositories.archives import Archives
from validator.store.repositories.base import ROUND, Repository
from validator.store.tables import records, rounds

T = TypeVar("T")
TOGETHER: Final = 4  # frames read at a time
_KEPT_BYTES: Final = 2 * 1024 * 1024  # of the frames that a transaction remembers of the round that it read last
_FRAMES: Final[Select[Any]] = (
    select(records.c.frame)
    .where(records.c.round_id == ROUND, records.c.part >= bindparam("part"))
    .order_by(records.c.part)
    .limit(TOGETHER)
)


class Records(Repository):
    """Records by (round_id, part), in the store or in an archive file.

    Raises:
        DamagedError: on reading, where a record is missing or is not what was written.
        ArchivedError: it is in a file that cannot be reached from here.
        ArchiveError: the file is not what the store knows.
    """

    async def put(self, round_id: int, frames: Sequence[bytes]) -> None:
        """Write a round's record, and read it back.

        Raises:
            DamagedError: the database gives back something else.
        """
        rows = [{"round_id": round_id, "part": part, "frame": frame} for part, frame in enumerate(frames)]
        await self._insert(records, rows)
        stored = select(records.c.frame).where(records.c.round_id == round_id).order_by(records.c.part)
        if [bytes(row.frame) for row in await self._all(stored)] != [*frames]:
            raise DamagedError(f"the record of round {round_id} was not read back as it was written")

    async def head(self, round_id: int) -> Head | None:
        """Return what a round came to; None while it is open, or where there is no such round."""
        recent = self._packing.recent
        if recent.round_id == round_id and recent.head is not None:
            return recent.head
        async for item in self._items(round_id):
            recent.head = head_of(item)
            return recent.head
        return None

    async def outcome(self, round_id: int) -> RoundOutcome | None:
        """Return what a settled round came to; None for other rounds."""
        head = await self.head(round_id)
        if head is None or head.outcome is None:
            return None
        return _read(round_id, "outcome", read_outcome, head.outcome)

    async def plan(self, round_id: int) -> RoundPlan | None:
        """Return who got what in an ended round; None for an open one, and for a skipped one."""
        head = await self.head(round_id)
        if head is None or head.plan is None:
            return None
        return _read(round_id, "plan", lambda data: typed.decode(data, RoundPlan), head.plan)

    async def groups(self, round_id: int) -> AsyncIterator[Group]:
        """Yield the documents of each group of an ended round, one group at a time."""
        is_head = True
        async for item in self._items(round_id):
            if not is_head:
                yield group_of(item)
            is_head = False

    async def frames(self, round_id: int) -> AsyncIterator[bytes]:
        """Yield the frames of an ended round as they are stored; none of an open one."""
        part, found = 0, [b""] * TOGETHER
        while len(found) == TOGETHER:
            found = await self._some(round_id, part)
            for frame in found:
                yield frame
            part += len(found)

    async def _items(self, round_id: int) -> AsyncIterator[bytes]:
        items = Items()
        async for frame in self.frames(round_id):
            for item in items.take(await self._packing.unpack(frame)):
                yield item
        items.require_end()

    async def _some(self, round_id: int, part: int) -> list[bytes]:
        """Return the next frames of a round from this one on, fewer than `TOGETHER` at its end."""
        recent = self._packing.recent
        if part == 0 and recent.round_id == round_id and recent.frames:
            return recent.frames
        found = [bytes(row.frame) for row in await self._all(_FRAMES, {"round_id": round_id, "part": part})]
        if not found and self._places is not None:
            found = await self._places.frames(round_id, part, TOGETHER, self._connection) or []
        if part == 0:
            if not found:
                await self._require_open(round_id)
            recent.read(round_id, found if sum(map(len, found)) <= _KEPT_BYTES else [])
        return found

    async def _require_open(self, round_id: int) -> None:
        """Refuse a round that has ended: it has a record."""
        state = await self._scalar(select(rounds.c.state).where(rounds.c.round_id == round_id))
        if state in (None, "open"):
            return
        if round_id <= await Archives(self._connection, self._packing).removed_through():
            raise ArchivedError(f"the record of round {round_id} is in an archive file, where a change does not look")
        raise DamagedError(f"round {round_id} has ended and has no record")


def _read(round_id: int, which: str, read: Callable[[bytes], T], data: bytes) -> T:
    try:
        return read(data)
    except msgspec.MsgspecError:
        raise DamagedError(f"the {which} of round {round_id} cannot be read") from None
