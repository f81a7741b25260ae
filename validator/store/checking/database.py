"""The database as such: its pages, its tables, and what they refer to in each other."""

from typing import Any, Final

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, and_, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from validator.store.checking.check import Check
from validator.store.schema import VERSION_TABLE
from validator.store.tables import metadata

_PAGES: Final = 100


async def look_at_pages(connection: AsyncConnection, check: Check) -> None:
    """Let SQLite look at its file."""
    for (line,) in await connection.exec_driver_sql(f"PRAGMA integrity_check({_PAGES})"):
        check.looked += 1
        if line != "ok":
            check.fault(str(line))


async def look_at_tables(connection: AsyncConnection, check: Check) -> None:
    """Hold the tables against those that the migrations make."""
    options = {"compare_type": True, "compare_server_default": True, "version_table": VERSION_TABLE}

    def compared(sync: Connection) -> list[Any]:
        return list(compare_metadata(MigrationContext.configure(sync, opts=options), metadata))

    check.looked = len(metadata.tables)
    for difference in await connection.run_sync(compared):
        check.fault(f"not as the migrations made it: {difference}")


async def look_at_references(connection: AsyncConnection, check: Check) -> None:
    """Count the rows that refer to none."""
    for child in metadata.sorted_tables:
        for reference in child.foreign_key_constraints:
            check.looked += 1
            parent = reference.referred_table.alias("referred")
            pairs = [(element.parent, parent.c[element.column.key]) for element in reference.elements]
            lost = (
                select(func.count())
                .select_from(child.outerjoin(parent, and_(*(ours == theirs for ours, theirs in pairs))))
                .where(*(ours.is_not(None) for ours, _ in pairs), or_(*(theirs.is_(None) for _, theirs in pairs)))
            )
            if many := await connection.scalar(lost):
                names = ", ".join(ours.name for ours, _ in pairs)
                check.fault(f"{child.name}: {many} rows whose {names} is not in {reference.referred_table.name}")
