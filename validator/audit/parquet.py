"""The store's tables as Parquet files, for analysis: every number, and no bytes of anybody's.

Needs the extra `analysis`.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from sqlalchemy import BigInteger, Boolean, Column, Integer, LargeBinary, Table, select
from sqlalchemy.ext.asyncio import AsyncConnection

from validator.protocol.errors import ValidatorError
from validator.protocol.text import printable
from validator.store.columns import Moment, Real
from validator.store.copying import plain
from validator.store.tables import metadata

_ROWS: Final = 20_000  # at a time, and in a row group
_TYPES: Final = (
    (Boolean, pa.bool_()),
    (BigInteger, pa.int64()),
    (Integer, pa.int64()),
    (Real, pa.float64()),
    (Moment, pa.timestamp("us", tz="UTC")),
)


class ExportError(ValidatorError):
    """Nothing was exported."""


class ExportedTable(NamedTuple):
    """A file that was written: of which table, and how many rows."""

    name: str
    file: Path
    rows: int


def table_names() -> tuple[str, ...]:
    """Return the tables that can be exported, by name."""
    return tuple(sorted(metadata.tables))


def new_folder(folder: Path) -> None:
    """Make the folder for an export, for its owner alone.

    Raises:
        ExportError: it is there, or cannot be made.
    """
    try:
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise ExportError(f"{printable(str(folder))}: {error.strerror}; name a new folder") from None


async def export_tables(
    connection: AsyncConnection,
    folder: Path,
    *,
    names: Sequence[str] = (),
    since: int = 0,
    progress: Callable[[int], None] = lambda _rows: None,
) -> tuple[ExportedTable, ...]:
    """Write one file per table, all from one consistent view; return what was written.

    Columns of bytes are left out: answers, bundles, documents, salts, seeds. JSON is text, moments are UTC, a reason is
    its code. Only the owner may read the files: they tell the truth of tasks, and who is in the open round.

    Args:
        connection: a read transaction.
        folder: from `new_folder`.
        names: of tables; all when empty.
        since: of tables that have rounds: rows of this round and later ones.
        progress: called with numbers of rows.

    Raises:
        ExportError: a file cannot be written.
    """
    written = []
    for name in names or table_names():
        try:
            written.append(
                await _export(connection, metadata.tables[name], folder / f"{name}.parquet", since, progress)
            )
        except OSError as error:
            raise ExportError(f"{printable(str(folder))}: {error.strerror or error}") from None
    return tuple(written)


async def _export(
    connection: AsyncConnection, table: Table, file: Path, since: int, progress: Callable[[int], None]
) -> ExportedTable:
    columns = [column for column in table.columns if not isinstance(column.type, LargeBinary)]
    schema = pa.schema([pa.field(column.name, _type(column)) for column in columns])
    raw = plain(table)
    statement = select(*(raw.c[column.name] for column in columns))
    if since and "round_id" in table.columns:
        statement = statement.where(raw.c.round_id >= since)
    rows = 0
    handle = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(handle, "wb") as stream, pq.ParquetWriter(stream, schema, compression="zstd") as writer:
        result = await connection.stream(statement)
        async for batch in result.partitions(_ROWS):
            arrays = [pa.array([_value(row[i]) for row in batch], type=field.type) for i, field in enumerate(schema)]
            writer.write_batch(pa.record_batch(arrays, schema=schema))
            rows += len(batch)
            progress(len(batch))
    return ExportedTable(str(table.name), file, rows)


def _type(column: Column[Any]) -> Any:
    return next((given for kind, given in _TYPES if isinstance(column.type, kind)), pa.string())


def _value(value: Any) -> Any:
    return str(value) if isinstance(value, str) else value  # a reason is a string of a class of its own
