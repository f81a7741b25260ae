"""Which chain and subnet the store belongs to."""

from datetime import datetime

from sqlalchemy import select

from validator.store.records import StoreChain
from validator.store.repositories.base import Repository
from validator.store.tables import store_chain


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
