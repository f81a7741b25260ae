"""What `validator db …` does: the store's tables."""

import asyncio
from pathlib import Path

import typer

from validator.cli.archived_note import archived_spans, note_archives
from validator.cli.configured import settings_of
from validator.cli.errors import EXIT_NO
from validator.cli.output import print_json, print_line
from validator.cli.progress import progress
from validator.cli.tables import Column, print_table
from validator.store import SchemaState, schema_state, upgrade
from validator.store.copying import copy_store, row_counts


def upgrade_(config: Path | None) -> None:
    """Make the tables, or bring them to this version. Stop the validator and make a backup first."""
    url = settings_of(config).store.url
    found = asyncio.run(_upgraded(url.get_secret_value()))
    print_line(f"{url}: {'is current' if found == 'current' else f'was {found}, is current now'}")


async def _upgraded(url: str) -> SchemaState:
    behind = await schema_state(url) == "behind"
    return await upgrade(url, lambda step, seconds: print_line(f"{step}  {seconds:.1f} s") if behind else None)


def state(config: Path | None, *, as_json: bool) -> None:
    """Say how the tables relate to this version: empty, current, behind or ahead. Exit 1 unless current."""
    url = settings_of(config).store.url
    found = asyncio.run(schema_state(url.get_secret_value()))
    if as_json:
        print_json({"location": str(url), "state": found})
    else:
        print_line(found)
    if found != "current":
        raise typer.Exit(EXIT_NO)


def copy(target: str, config: Path | None, *, as_json: bool) -> None:
    """Copy the whole store into an empty one, here or on the other database, and compare every row."""
    store = settings_of(config).store
    source = store.url.get_secret_value()
    rows = sum(asyncio.run(row_counts(source)).values())
    with progress("copying", rows) as advance:
        copied = asyncio.run(copy_store(source, target, lambda _table, many: advance(many)))
    if as_json:
        print_json({"tables": [found._asdict() for found in copied]})
    else:
        print_table(
            [Column("table"), Column("rows", right=True), Column("digest of all rows")],
            [(found.name, found.rows, found.digest) for found in copied],
        )
        spans = asyncio.run(archived_spans(source))
        note_archives(spans, store.archive, "they serve the copy as well: keep store.archive as it is")
