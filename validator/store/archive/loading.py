"""A block of an archive file as a store in memory, so that whoever reads the store's tables reads these."""

import sqlite3
from typing import Any, Final

from sqlalchemy import Connection

from validator.protocol.text import printable
from validator.store.archive.file import ArchiveFile, refused
from validator.store.archive.form import as_stored
from validator.store.archive.rows import TABLES
from validator.store.inline import InlineConnection
from validator.store.memory import Memory, insert_plain
from validator.store.schema import revisions
from validator.store.tables import metadata

_NAMES: Final = frozenset(table.name for table in metadata.sorted_tables)


async def load_block(found: ArchiveFile, number: int) -> Memory:
    """Return a block of a file in tables of this version; close it.

    Raises:
        ArchiveError: the file is damaged, or of tables that this program does not know.
    """
    revision = found.manifest.revision
    if revision != revisions()[-1]:
        raise refused(
            found.path,
            f"has tables {printable(revision, 20)}, which this program does not know; install the one that wrote it",
        )
    tables = found.read(number)
    memory = sqlite3.connect(":memory:", isolation_level=None)

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
    metadata.create_all(connection, tables=list(TABLES), checkfirst=False)
    for columns, values in zip(found.manifest.tables, tables, strict=True):
        _insert(connection, found, columns.table, columns.names, values)


def _insert(
    connection: Connection, found: ArchiveFile, table: str, names: tuple[str, ...], values: list[list[Any]]
) -> None:
    known = {row[1] for row in connection.exec_driver_sql(f"PRAGMA table_info({table})")} if table in _NAMES else set()
    if not known.issuperset(names):
        raise refused(found.path, f"has a table or a column that its tables have not: {printable(table, 40)}")
    insert_plain(connection, table, names, list(zip(*(map(as_stored, column) for column in values), strict=True)))
