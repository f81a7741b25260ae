"""When the validator stood still in a round (SPEC 16, D-26)."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import select

from validator.store.repositories.base import Repository
from validator.store.tables import stalls


class StallRecord(NamedTuple):
    """From when, and for how many seconds."""

    started_at: datetime
    seconds: float


class Stalls(Repository):
    """Stalls by round, in the order in which they happened."""

    async def put(self, round_id: int, found: Sequence[StallRecord]) -> None:
        """Keep what is known of a round's stalls so far; the last of those that are there may have grown."""
        rows = [{"round_id": round_id, "number": number, **stall._asdict()} for number, stall in enumerate(found)]
        await self._upsert(stalls, rows)

    async def of_round(self, round_id: int) -> tuple[StallRecord, ...]:
        """Return a round's stalls."""
        statement = select(stalls.c.started_at, stalls.c.seconds).where(stalls.c.round_id == round_id)
        return tuple(
            StallRecord(row.started_at, row.seconds) for row in await self._all(statement.order_by(stalls.c.number))
        )
