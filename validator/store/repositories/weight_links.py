"""Vectors as the log tells them: the line that each receipt of kind `weights` names (SPEC 16, D-28)."""

from typing import NamedTuple

from sqlalchemy import ColumnElement, func, select

from validator.protocol.reasons import Reason
from validator.protocol.receipt import WeightsLink
from validator.store.repositories.base import Repository
from validator.store.tables import weight_links

_L = weight_links.c


class ToldVector(NamedTuple):
    """A vector in the log: its receipt, why it is not sent (None: it is), and the digest of its line."""

    sequence: int
    reason: Reason | None
    sha256: str


class WeightLinks(Repository):
    """By the number of their receipt."""

    async def add(self, sequence: int, link: WeightsLink, line: bytes) -> None:
        """Keep the line that a receipt names."""
        row = {
            "sequence": sequence,
            "netuid": link.netuid,
            "mechid": link.mechid,
            "epoch": link.epoch,
            "reason": link.reason,
            "sha256": link.sha256,
            "line": await self._packing.pack(line),
        }
        await self._insert(weight_links, [row])

    async def newest(self, netuid: int, mechid: int, epoch: int) -> ToldVector | None:
        """Return what the log said last of the epoch's vector, None where it says nothing."""
        mine = select(_L.sequence, _L.reason, _L.sha256).where(*_of(netuid, mechid, epoch))
        row = await self._first(mine.order_by(_L.sequence.desc()).limit(1))
        return None if row is None else ToldVector(**row._asdict())

    async def unsent(self, netuid: int, mechid: int, epoch: int) -> int:
        """Return how many vectors of the epoch the log tells that are not sent."""
        mine = select(func.count()).where(*_of(netuid, mechid, epoch), _L.reason.is_not(None))
        return int(await self._scalar(mine))

    async def line(self, sequence: int) -> bytes | None:
        """Return the line that a receipt names, without the newline and not held against its digest.

        Raises:
            DamagedError: it cannot even be expanded.
        """
        blob = await self._scalar(select(_L.line).where(_L.sequence == sequence))
        return None if blob is None else await self._packing.unpack(blob)


def _of(netuid: int, mechid: int, epoch: int) -> tuple[ColumnElement[bool], ...]:
    return _L.netuid == netuid, _L.mechid == mechid, _L.epoch == epoch
