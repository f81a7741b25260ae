"""A block of an archive file as a store in memory, so that whoever reads the store's tables reads these."""

import sqlite3
from contextlib import closing
from functools import cache
from typing import Any, Final

from sqlalchemy import Connection
from sqlalchemy.pool import StaticPool

from validator.protocol.text import printable
from validator.store.archive.file import ArchiveFile, refused
from validator.store.archive.form import as_stored
from validator.store.archive.rows import TABLES
from validator.store.inline import InlineConnection
from validator.store.memory import Memory, insert_plain
from validator.store.schema import MIGRATIONS, revisions
from validator.store.tables import metadata

_NAMES: Final = frozenset(table.name for table in metadata.sorted_tables)


async def load_block(found: ArchiveFile, number: int) -> Memory:
    """Return a block of a file in tables of this version; close it.

    Rows of older tables go through the migrations that came after them, as a store's do.

    Raises:
        ArchiveError: the file is damaged, or of tables that this program does not know.
    """
    revision = found.manifest.revision
    if revision not in revisions():
        raise refused(
            found.path,
            f"has tables {printable(revision, 20)}, which this program does not know; install the one that wrote it",
        )
    tables = found.read(number)
    memory = sqlite3.connect(":memory:", isolation_level=None)
    if revision != revisions()[-1]:
        memory.deserialize(_empty(revision))

    async def there(*_: Any, **__: Any) -> InlineConnection:
        return InlineConnection(memory)

    block = await Memory.opened(there)
    try:
        await block.connection.run_sync(_fill, found, tables)
    except sqlite3.Error as error:
        await block.close()
        raise refused(found.path, f"has rows that its tables do not take: {printable(str(error))}") from None
    except BaseException:
        await block.close()
        raise
    return block


def _fill(connection: Connection, found: ArchiveFile, tables: list[list[list[Any]]]) -> None:
    revision = found.manifest.revision
    current = revision == revisions()[-1]
    if current:
        metadata.create_all(connection, tables=list(TABLES), checkfirst=False)
    for columns, values in zip(found.manifest.tables, tables, strict=True):
        _insert(connection, found, columns.table, columns.names, values)
    if not current:
        from validator.store.migrating import migrate  # noqa: PLC0415 - Alembic takes longer than a listing

        migrate(connection, MIGRATIONS, partly=True)


def _insert(
    connection: Connection, found: ArchiveFile, table: str, names: tuple[str, ...], values: list[list[Any]]
) -> None:
    known = {row[1] for row in connection.exec_driver_sql(f"PRAGMA table_info({table})")} if table in _NAMES else set()
    if not known.issuperset(names):
        raise refused(found.path, f"has a table or a column that its tables have not: {printable(table, 40)}")
    insert_plain(connection, table, names, list(zip(*(map(as_stored, column) for column in values), strict=True)))


@cache
def _empty(revision: str) -> bytes:
    """Return an empty SQLite store of an older revision."""
    from sqlalchemy import create_engine  # noqa: PLC0415 - an older file alone has use for it

    from validator.store.migrating import migrate  # noqa: PLC0415 - Alembic takes longer than a listing

    with closing(sqlite3.connect(":memory:")) as memory:
        engine = create_engine("sqlite://", poolclass=StaticPool, creator=lambda: memory)
        with engine.begin() as connection:
            migrate(connection, MIGRATIONS, to=revision)
        return memory.serialize()
