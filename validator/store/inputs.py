"""Frozen inputs of rounds that have ended: as what differs from an earlier one.

From one round to the next few histories and windows change, and those of many miners are most of an input. Rounds come
in blocks of 64 (`BLOCK`): the first of a block is stored whole, every other refers to the one whose number has its
lowest bit cleared. So at most six are read for any of them, and none of another block.
"""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from validator.store.codec import Base, base_of, expanded, expanded_beside
from validator.store.errors import DamagedError
from validator.store.tables import rounds

BLOCK: Final = 64
LEVEL: Final = 17  # away from the event loop; lower ones find a third of what two long inputs share
_HELD: Final = 8
_HELD_BYTES: Final = 32 * 1024 * 1024


@dataclass(slots=True)
class Inputs:
    """Reads inputs, and remembers the newest few: rounds are mostly read one after the other."""

    _held: OrderedDict[int, bytes] = field(init=False, default_factory=OrderedDict)

    async def document(self, round_id: int, blob: bytes, store: AsyncConnection) -> bytes:
        """Return the canonical bytes of a round's input.

        Args:
            round_id: whose.
            blob: as it is stored.
            store: to read earlier inputs from.

        Raises:
            DamagedError: it is not what was stored, or an earlier one is not.
        """
        base_id = base_of(blob)
        if base_id is None:
            return expanded(blob)
        found = self._held.get(round_id)
        if found is None:
            if base_id >= round_id:
                raise DamagedError(f"the input of round {round_id} refers to that of round {base_id}")
            found = expanded_beside(blob, await self._base(base_id, store))
        self._hold(round_id, found)
        return found

    async def base(self, round_id: int, store: AsyncConnection) -> Base | None:
        """Return the input that a round's may refer to; None where it is to be stored whole.

        Args:
            round_id: whose.
            store: a write transaction, to read earlier inputs from.
        """
        for base_id in bases(round_id):
            try:
                if await _is_there(base_id, store):  # what is remembered may be in an archive file by now
                    return Base(base_id, await self._base(base_id, store))
            except DamagedError:
                continue
        return None

    async def _base(self, base_id: int, store: AsyncConnection) -> bytes:
        if base_id not in self._held:
            blob = await _blob(base_id, store)
            if blob is None:
                raise DamagedError(f"the input of round {base_id}, which others refer to, is missing")
            self._hold(base_id, await self.document(base_id, blob, store))
        return self._held[base_id]

    def _hold(self, round_id: int, data: bytes) -> None:
        self._held[round_id] = data
        self._held.move_to_end(round_id)
        while len(self._held) > _HELD or (len(self._held) > 1 and sum(map(len, self._held.values())) > _HELD_BYTES):
            self._held.popitem(last=False)


def bases(round_id: int) -> Iterator[int]:
    """Yield the rounds that an input may refer to, best first: none for the first of a block."""
    base_id = round_id
    while base_id % BLOCK:
        base_id &= base_id - 1
        yield base_id


async def _is_there(round_id: int, store: AsyncConnection) -> bool:
    """Whether the store has an input, and those that it refers to."""
    following: int | None = round_id
    while following is not None:
        blob = await _blob(following, store)
        if blob is None:
            return False
        following = base_of(blob)
    return True


async def _blob(round_id: int, store: AsyncConnection) -> bytes | None:
    blob: bytes | None = await store.scalar(select(rounds.c.input).where(rounds.c.round_id == round_id))
    return blob
