"""Retention: raw bodies and bundles of rounds and executions that ended go when the settings say so."""

from datetime import datetime
from typing import Any, Final

from sqlalchemy import delete, func, or_, select, tuple_

from validator.store.repositories.base import Repository
from validator.store.rows import Pruned
from validator.store.tables import answers, bundles, rounds, tasks, waiting_work
from validator.store.waiting_work import EXECUTIONS

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
