"""The store's tables as Parquet files, for analysis: every number, and no bytes of anybody's.

Needs the extra `analysis`.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from sqlalchemy import BigInteger, Boolean, Column, Integer, LargeBinary, Table, select
from sqlalchemy.ext.asyncio import AsyncConnection

from validator.files import new_file, new_folder, why
from validator.protocol.errors import ValidatorError
from validator.protocol.text import printable
from validator.store.columns import Moment, Real
from validator.store.copying import plain
from validator.store.folding.reading import whole_rows
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


async def export_tables(
    connection: AsyncConnection,
    folder: Path,
    *,
    names: Sequence[str] = (),
    since: int = 0,
    progress: Callable[[int], None] = lambda _rows: None,
) -> tuple[ExportedTable, ...]:
    """Write one file per table into a new folder, all from one consistent view; return what was written.

    Columns of bytes are left out: answers, bundles, documents, salts, seeds. JSON is text, moments are UTC, a reason is
    its code. Only the owner may read the files: they tell the truth of tasks, and who is in the open round. The folder
    is there once all of them are.

    Args:
        connection: a read transaction.
        folder: a name that nothing has.
        names: of tables; all when empty.
        since: of tables that have rounds: rows of this round and later ones.
        progress: called with numbers of rows.

    Raises:
        ExportError: something has it, or a file cannot be written.
    """
    written = []
    try:
        with new_folder(folder) as made:
            for name in names or table_names():
                file = f"{name}.parquet"
                rows = await _export(connection, metadata.tables[name], made / file, since, progress)
                written.append(ExportedTable(name, folder / file, rows))
    except FileExistsError:
        raise ExportError(f"{printable(str(folder))} is there; name a new folder") from None
    except OSError as error:
        raise ExportError(f"{printable(str(folder))}: {why(error)}") from None
    return tuple(written)


async def _export(
    connection: AsyncConnection, table: Table, file: Path, since: int, progress: Callable[[int], None]
) -> int:
    columns = [column for column in table.columns if not isinstance(column.type, LargeBinary)]
    schema = pa.schema([pa.field(column.name, _type(column)) for column in columns])
    raw = plain(table)
    statement = select(*(raw.c[column.name] for column in columns))
    if since and "round_id" in table.columns:
        statement = statement.where(raw.c.round_id >= since)
    rows = 0
    with new_file(file) as stream, pq.ParquetWriter(stream, schema, compression="zstd") as writer:
        async for batch in whole_rows(connection, table, statement, _ROWS):
            arrays = [pa.array([_value(row[i]) for row in batch], type=field.type) for i, field in enumerate(schema)]
            writer.write_batch(pa.record_batch(arrays, schema=schema))
            rows += len(batch)
            progress(len(batch))
    return rows


def _type(column: Column[Any]) -> Any:
    return next((given for kind, given in _TYPES if isinstance(column.type, kind)), pa.string())


def _value(value: Any) -> Any:
    return str(value) if isinstance(value, str) else value  # a reason is a string of a class of its own
