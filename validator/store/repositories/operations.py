"""Operation of the validator: the chain that the store belongs to, and requests to drain."""

from datetime import datetime

from sqlalchemy import func, select, update

from validator.store.repositories.base import Repository
from validator.store.rows import Drain, StoreChain
from validator.store.tables import drains, store_chain


class Chains(Repository):
    """At most one, for good."""

    async def get(self) -> StoreChain | None:
        """Return the chain, None before the store was first opened with one."""
        c = store_chain.c
        row = await self._first(select(c.genesis, c.netuid, c.adopted_at))
        return None if row is None else StoreChain(**row._asdict())

    async def adopt(self, genesis: str, netuid: int, at: datetime) -> bool:
        """Let the store belong to a chain and a subnet; return whether it did to none before."""
        return await self._insert_new(store_chain, {"id": 1, "genesis": genesis, "netuid": netuid, "adopted_at": at})


class Drains(Repository):
    """Numbered: a validator takes no notice of those from before it started."""

    async def ask(self, at: datetime) -> int:
        """Write a request down; return its number."""
        return await self._insert_one(drains, asked_at=at)

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
