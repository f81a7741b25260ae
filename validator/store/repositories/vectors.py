"""Vectors that were computed, sent or not: one per mechanism and epoch (SPEC 16, D-23)."""

from dataclasses import asdict
from typing import Any

from sqlalchemy import Row, select

from validator.store.computed import VectorRecord
from validator.store.repositories.base import Repository
from validator.store.tables import weight_vectors

_V = weight_vectors.c


class WeightVectors(Repository):
    """Which rounds a vector was made of, and whom it did not pay."""

    async def put(self, record: VectorRecord) -> None:
        """Write down a vector; one that was computed for the same epoch before is replaced."""
        row = {**asdict(record), "unpaid": record.unpaid}
        await self._upsert(weight_vectors, [row])

    async def before(self, netuid: int, mechid: int, epoch: int) -> VectorRecord | None:
        """Return the mechanism's newest vector of an earlier epoch, None if there is none."""
        mine = select(weight_vectors).where(_V.netuid == netuid, _V.mechid == mechid, _V.epoch < epoch)
        return _record(await self._first(mine.order_by(_V.epoch.desc()).limit(1)))

    async def newest(self, netuid: int, mechid: int) -> VectorRecord | None:
        """Return the mechanism's vector of the highest epoch, None before the first."""
        mine = select(weight_vectors).where(_V.netuid == netuid, _V.mechid == mechid)
        return _record(await self._first(mine.order_by(_V.epoch.desc()).limit(1)))

    async def of_epoch(self, netuid: int, mechid: int, epoch: int) -> VectorRecord | None:
        """Return the epoch's vector."""
        key = {"netuid": netuid, "mechid": mechid, "epoch": epoch}
        return _record(await self._first(select(weight_vectors).filter_by(**key)))


def _record(row: Row[Any] | None) -> VectorRecord | None:
    return None if row is None else VectorRecord(**row._asdict())
