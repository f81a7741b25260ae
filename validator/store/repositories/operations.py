"""Operation of the validator: the chain that the store belongs to, requests to drain, and retention."""

from datetime import datetime
from typing import Any, Final

from sqlalchemy import delete, func, or_, select, tuple_, update

from sssa.protocol.waiting_work import EXECUTIONS
from validator.store.repositories.repository import Repository
from validator.store.rows import Drain, Pruned, StoreChain
from validator.store.tables import answers, bundles, drains, rounds, store_chain, tasks, waiting_work


class Chains(Repository):
    """The chain of the store: at most one, permanently."""

    async def get(self) -> StoreChain | None:
        """Return the chain, None before the store was first opened with one."""
        c = store_chain.c
        return await self._one(StoreChain, select(c.genesis, c.netuid, c.adopted_at))

    async def adopt(self, genesis: str, netuid: int, at: datetime) -> bool:
        """Bind the store to a chain and a subnet; return whether it had none."""
        return await self._insert_new(store_chain, {"id": 1, "genesis": genesis, "netuid": netuid, "adopted_at": at})


class Drains(Repository):
    """Numbered: a validator takes no notice of those from before it started."""

    async def ask(self, at: datetime) -> int:
        """Write a request down; return its number."""
        return await self._insert_one(drains, requested_at=at)

    async def newest(self) -> int:
        """Return the newest request's number, 0 if there was none yet."""
        return int(await self._scalar(select(func.max(drains.c.id))) or 0)

    async def get(self, number: int) -> Drain | None:
        """Return a request."""
        d = drains.c
        return await self._one(Drain, select(d.requested_at, d.taken_at, d.ended_at).where(d.id == number))

    async def take(self, number: int, at: datetime) -> None:
        """Note that the running validator follows it."""
        await self._changed(update(drains).where(drains.c.id == number).values(taken_at=at))

    async def end(self, number: int, at: datetime) -> None:
        """Note that this validator has no round in hand any more, and ends; requests next to it are over, too."""
        taken = func.coalesce(drains.c.taken_at, at)
        await self._changed(
            update(drains).where(drains.c.id >= number, drains.c.ended_at.is_(None)).values(taken_at=taken, ended_at=at)
        )


MOST: Final = 32 * 1024 * 1024  # bytes of bodies in a transaction: SQLite may write over all that it removes
_W: Final = waiting_work.c
_EXECUTED: Final = select(_W.round_id, _W.task_id).where(_W.kind == EXECUTIONS, _W.state.in_(("pending", "running")))


class Retention(Repository):
    """Removes old bytes; attestations and numbers stay."""

    async def prune(
        self, *, answers_before: datetime | None = None, bundles_before: datetime | None = None, limit: int = 500
    ) -> Pruned:
        """Remove raw bodies and bundles stored before these moments, unless an open round or an execution needs them.

        None keeps all. At most `limit` rows of each kind go in this transaction, so that it stays short, and of bodies
        at most one beyond `MOST` bytes: call again until nothing goes. Return how many rows went.
        """
        return Pruned(
            answers=0 if answers_before is None else await self._answers(answers_before, limit),
            bundles=0 if bundles_before is None else await self._bundles(bundles_before, limit),
        )

    async def _answers(self, before: datetime, limit: int) -> int:
        a = answers.c
        key = (a.round_id, a.task_id, a.hotkey)
        old = (
            select(*key, func.length(a.body).label("size"))
            .join(rounds, rounds.c.round_id == a.round_id)
            .where(a.stored_at < before, rounds.c.state != "open", tuple_(a.round_id, a.task_id).not_in(_EXECUTED))
            .order_by(a.stored_at)
            .limit(limit)
        )
        some: list[tuple[Any, ...]] = []
        size = 0
        for row in await self._all(old):
            some.append(tuple(row)[: len(key)])
            size += row.size
            if size > MOST:
                break
        return await self._changed(delete(answers).where(tuple_(*key).in_(some))) if some else 0

    async def _bundles(self, before: datetime, limit: int) -> int:
        executed = tuple_(tasks.c.round_id, tasks.c.task_id).in_(_EXECUTED)
        in_use = (
            select(tasks.c.bundle_sha256)
            .join(rounds, rounds.c.round_id == tasks.c.round_id)
            .where(or_(rounds.c.state == "open", executed))
        )
        old = select(bundles.c.sha256).where(bundles.c.stored_at < before, bundles.c.sha256.not_in(in_use))
        some = old.order_by(bundles.c.stored_at).limit(limit)
        return await self._changed(delete(bundles).where(bundles.c.sha256.in_(some)))
