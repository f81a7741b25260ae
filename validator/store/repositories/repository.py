"""Base of repositories: a session inside a transaction, and the few statements that both databases spell apart."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from sqlalchemy import BindParameter, Executable, Row, Table, bindparam, func, insert, select, update
from sqlalchemy.dialects import sqlite
from sqlalchemy.engine import CursorResult
from sqlalchemy.ext.asyncio import AsyncConnection

from validator.store.record import Head

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql

ROUND: Final[BindParameter[int]] = bindparam("round_id")
"""The round, in statements that are made once: making one takes longer than running it."""
R = TypeVar("R", bound="Repository")
T = TypeVar("T")


class Recent(NamedTuple):
    """A record that was read: of which round, its first frames (none where they are many bytes), and its head."""

    round_id: int | None = None
    frames: tuple[bytes, ...] = ()
    head: Head | None = None


class Session:
    """A connection inside a transaction, and what its reader remembers.

    Attributes:
        recent: the record that was read last: what `explain` and `replay` ask for has many parts.
    """

    def __init__(self, connection: AsyncConnection) -> None:
        self.connection = connection
        self.recent = Recent()


class Repository:
    """One aggregate's statements, which never commit."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._connection = session.connection

    def _as(self, kind: type[R]) -> R:
        """Return another aggregate's statements in the same transaction."""
        return kind(self._session)

    @property
    def _dialect(self) -> str:
        return self._connection.dialect.name

    async def _all(self, statement: Executable, parameters: Mapping[str, Any] | None = None) -> Sequence[Row[Any]]:
        return (await self._connection.execute(statement, parameters)).all()

    async def _all_of(self, round_id: int, statement: Executable) -> Sequence[Row[Any]]:
        """Return the rows of a statement about `ROUND`."""
        return await self._all(statement, {"round_id": round_id})

    async def _first(self, statement: Executable, parameters: Mapping[str, Any] | None = None) -> Row[Any] | None:
        return (await self._connection.execute(statement, parameters)).first()

    async def _one(self, kind: type[T], statement: Executable, parameters: Mapping[str, Any] | None = None) -> T | None:
        """Return the first row as a `kind`, whose fields are its columns; None without a row."""
        row = await self._first(statement, parameters)
        return None if row is None else kind(**row._asdict())

    async def _each(
        self, kind: type[T], statement: Executable, parameters: Mapping[str, Any] | None = None
    ) -> tuple[T, ...]:
        """Return every row as a `kind`."""
        return tuple([kind(**row._asdict()) for row in await self._all(statement, parameters)])

    async def _scalar(self, statement: Executable) -> Any:
        return (await self._connection.execute(statement)).scalar()

    async def _changed(self, statement: Executable) -> int:
        """Run an UPDATE or DELETE and return the number of rows it met."""
        result: CursorResult[Any] = await self._connection.execute(statement)
        return result.rowcount

    async def _insert(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
        if rows:
            await self._connection.execute(insert(table), rows)

    async def _insert_one(self, table: Table, **values: Any) -> int:
        """Insert a row; return the id that the database chose."""
        return int(await self._scalar(insert(table).values(values).returning(table.c.id)))

    async def _insert_new(self, table: Table, row: Mapping[str, Any]) -> bool:
        """Insert a row unless a unique key is taken; return whether it went in. The transaction stays usable."""
        key = next(iter(table.primary_key))
        statement = self._dialect_insert(table).values(**row).on_conflict_do_nothing().returning(key)
        return await self._first(statement) is not None

    async def _insert_missing(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
        """Insert those of the rows whose unique keys are free."""
        if rows:
            await self._connection.execute(self._dialect_insert(table).on_conflict_do_nothing(), rows)

    async def _update_each(self, table: Table, rows: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> None:
        """Update many rows in one statement; each comes as the columns that find it, and those that it gets."""
        if not rows:
            return
        key, given = rows[0]
        statement = update(table).where(*(table.c[name] == bindparam(f"of_{name}") for name in key))
        statement = statement.values({name: bindparam(name) for name in given})
        parameters = [{**{f"of_{name}": value for name, value in at.items()}, **values} for at, values in rows]
        await self._connection.execute(statement, parameters)

    async def _upsert(
        self, table: Table, rows: Sequence[Mapping[str, Any]], newest: str | None = None, keep: tuple[str, ...] = ()
    ) -> None:
        """Insert rows, all with the same columns, replacing those with the same primary key.

        Args:
            table: its primary key decides what is the same.
            rows: none for nothing to do.
            newest: column by which an older row never replaces a newer one.
            keep: columns that stay as they were first inserted.
        """
        if not rows:
            return
        statement = self._dialect_insert(table)
        keys = [column.name for column in table.primary_key]
        given = statement.excluded
        statement = statement.on_conflict_do_update(
            index_elements=keys,
            set_={name: given[name] for name in rows[0] if name not in (*keys, *keep)},
            where=None if newest is None else table.c[newest] <= given[newest],
        )
        await self._connection.execute(statement, rows)

    async def _next(self, table: Table, column: str) -> int:
        """Return one more than the column's largest value, 0 for an empty table."""
        largest = await self._scalar(select(func.max(table.c[column])))
        return 0 if largest is None else int(largest) + 1

    def _dialect_insert(self, table: Table) -> "postgresql.Insert | sqlite.Insert":
        if self._dialect != "postgresql":
            return sqlite.insert(table)
        from sqlalchemy.dialects import postgresql  # noqa: PLC0415 - a listing on SQLite has no use for it

        return postgresql.insert(table)
