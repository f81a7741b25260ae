"""What keeps two validators from using one hotkey: the updates known to be ours, and the lock when one is not."""

from datetime import datetime

from sqlalchemy import Connection, delete, func, insert, inspect, select, update

from validator.store.errors import EmptyReasonError
from validator.store.records import WeightLock, WeightMark
from validator.store.repositories.base import Repository
from validator.store.tables import weight_locks, weight_marks, weight_submissions


class WeightGuard(Repository):
    """Marks per (netuid, mechid, hotkey); locks for the whole store."""

    async def present(self) -> bool:
        """Whether the tables without which nothing may be sent are there."""
        return await self._connection.run_sync(_present)

    async def last_written(self, netuid: int) -> datetime | None:
        """Return when anything about weights of the subnet was written last."""
        moments = []
        for table in (weight_submissions, weight_marks):
            statement = select(func.max(table.c.updated_at)).where(table.c.netuid == netuid)
            moments.append(await self._scalar(statement))
        return max((moment for moment in moments if moment is not None), default=None)

    async def mark(self, netuid: int, mechid: int, hotkey: str) -> WeightMark | None:
        """Return what was last known, None before the first look."""
        m = weight_marks.c
        statement = select(m.uid, m.last_update, m.block).filter_by(netuid=netuid, mechid=mechid, hotkey=hotkey)
        row = await self._first(statement)
        return None if row is None else WeightMark(**row._asdict())

    async def set_mark(self, netuid: int, mechid: int, hotkey: str, mark: WeightMark, at: datetime) -> None:
        """Note what is known now."""
        key = {"netuid": netuid, "mechid": mechid, "hotkey": hotkey}
        await self._upsert(weight_marks, [{**key, **mark._asdict(), "updated_at": at}])

    async def lock(self, seen: str, at: datetime) -> None:
        """Note that nothing may be sent any more, and why; what is locked stays as it is."""
        if await self.locked() is None:
            await self._connection.execute(insert(weight_locks).values(locked_at=at, seen=seen))

    async def locked(self) -> WeightLock | None:
        """Return the lock that stands."""
        w = weight_locks.c
        statement = select(w.id, w.locked_at, w.seen).where(w.cleared_at.is_(None)).order_by(w.id).limit(1)
        row = await self._first(statement)
        return None if row is None else WeightLock(**row._asdict())

    async def unlock(self, reason: str, at: datetime) -> int:
        """Clear the locks, forget the marks, and return how many locks there were.

        Without marks the next start takes the chain as it finds it for its own.

        Raises:
            EmptyReasonError: `reason` says nothing.
        """
        if not reason.strip():
            raise EmptyReasonError("write down why, it is stored with the lock")
        standing = update(weight_locks).where(weight_locks.c.cleared_at.is_(None))
        await self._connection.execute(delete(weight_marks))
        return await self._changed(standing.values(cleared_at=at, cleared_reason=reason.strip()))


def _present(connection: Connection) -> bool:
    tables = inspect(connection)
    return all(tables.has_table(table.name) for table in (weight_submissions, weight_marks, weight_locks))
