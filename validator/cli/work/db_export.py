"""What `validator db export` does: the store's tables for analysis."""

import asyncio
import importlib
from collections.abc import Callable
from pathlib import Path

import typer

from validator.cli.configured import settings_of
from validator.cli.output import print_json
from validator.cli.progress import progress
from validator.cli.tables import Column, print_table
from validator.protocol.errors import ValidatorError
from validator.store import open_store
from validator.store.copying import row_counts


class NoParquetError(ValidatorError):
    """The extra `analysis` is not installed."""


def export(folder: Path, config: Path | None, table: list[str] | None, since: int, *, as_json: bool) -> None:
    """Write the store's tables as Parquet files into a new folder, without anybody's bytes."""
    try:
        importlib.import_module("pyarrow")
    except ImportError:
        raise NoParquetError('install it: pip install "sssa-validator[analysis]"') from None
    from validator.audit.parquet import ExportedTable, export_tables, table_names  # noqa: PLC0415 - needs the extra

    names = sorted(set(table or ()))
    if unknown := set(names) - set(table_names()):
        raise typer.BadParameter(f"no table `{min(unknown)}`; there are {', '.join(table_names())}")
    store_settings = settings_of(config).store
    url = store_settings.url.get_secret_value()
    counts = asyncio.run(row_counts(url))

    async def write(advance: Callable[[int], None]) -> tuple[ExportedTable, ...]:
        async with open_store(url, archive=store_settings.archive) as store, store.read() as tx:
            return await export_tables(tx, folder, names=names, since=since, progress=advance)

    with progress("exporting", sum(many for name, many in counts.items() if not names or name in names)) as advance:
        written = asyncio.run(write(advance))
    if as_json:
        print_json({"tables": [{**one._asdict(), "file": str(one.file)} for one in written]})
    else:
        print_table(
            [Column("table"), Column("rows", right=True), Column("file")],
            [(one.name, one.rows, one.file) for one in written],
        )
