"""What `validator db check` does: whether the store is whole."""

import asyncio
from pathlib import Path

import typer

from validator.cli.configured import settings_of
from validator.cli.errors import EXIT_NO
from validator.cli.output import print_json, print_line
from validator.cli.tables import Column, print_table
from validator.daemon.exits import Exit
from validator.store import open_store
from validator.store.checking import Check, checks


def check(config: Path | None, *, as_json: bool, rebuild: bool) -> None:
    """Look for damage: pages, tables, references, digests, the log. Exit 1: there is some; 17: in the file itself."""
    store = settings_of(config).store
    url = store.url
    found = asyncio.run(_checks(url.get_secret_value(), store.archive, rebuild=rebuild))
    if as_json:
        print_json({"location": str(url), "sound": not any(one.faults for one in found), "checks": found})
    else:
        print_table(
            [Column("check"), Column("looked at", right=True), Column("faults", right=True)],
            [(one.name, one.looked, len(one.faults) + one.more) for one in found],
        )
        for one in found:
            for fault in one.faults:
                print_line(f"{one.name}: {fault}")
            if one.more:
                print_line(f"{one.name}: {one.more} more")
    faulty = [one.name for one in found if one.faults]
    if faulty:
        raise typer.Exit(Exit.STORE_DAMAGED if "pages" in faulty else EXIT_NO)


async def _checks(url: str, archive: Path | None, *, rebuild: bool) -> list[Check]:
    if rebuild:
        async with open_store(url, writer=True) as store, store.begin() as tx:
            await tx.histories.rebuild()
            await tx.agreements.rebuild()
    async with open_store(url, archive=archive) as store, store.read() as tx:
        return [one async for one in checks(tx.connection, archive)]
