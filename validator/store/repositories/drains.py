"""Requests to let the running validator finish its round and end."""

from datetime import datetime

from sqlalchemy import func, select, update

from validator.store.records import Drain
from validator.store.repositories.base import Repository, inserted_id
from validator.store.tables import drains


class Drains(Repository):
    """Numbered: a validator takes no notice of those from before it started."""

    async def ask(self, at: datetime) -> int:
        """Write a request down; return its number."""
        return int(await self._scalar(inserted_id(drains).values(asked_at=at)))

    async def newest(self) -> int:
        """Return the newest request's number, 0 if there was none yet."""
        return int(await self._scalar(select(func.max(drains.c.id))) or 0)

    async def get(self, number: int) -> Drain | None:
        """Return a request."""
        d = drains.c
        row = await self._first(select(d.asked_at, d.taken_at, d.ended_at).where(d.id == number))
        return None if row is None else Drain(**row._asdict())

    async def take(self, number: int, at: datetime) -> None:
        """Note that the running validator follows it."""
        await self._changed(update(drains).where(drains.c.id == number).values(taken_at=at))

    async def end(self, number: int, at: datetime) -> None:
        """Note that this validator has no round in hand any more, and ends; requests beside it are over, too."""
        taken = func.coalesce(drains.c.taken_at, at)
        await self._changed(
            update(drains).where(drains.c.id >= number, drains.c.ended_at.is_(None)).values(taken_at=taken, ended_at=at)
        )
