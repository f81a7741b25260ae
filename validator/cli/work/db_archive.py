"""What `validator db archive` does: old rounds out of the store into files."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import typer

from validator.chain.wallet import load_signer
from validator.cli.configured import settings_of
from validator.cli.output import print_json, print_line
from validator.cli.progress import progress
from validator.cli.sizes import readable
from validator.cli.tables import Column, print_table
from validator.files import made_folders
from validator.settings import Settings
from validator.store import open_store
from validator.store.archived import ArchivedSpan
from validator.store.archiving.archiver import STEPS, Archiver
from validator.store.archiving.choosing import Choice


class _Done(NamedTuple):
    choice: Choice
    left: int  # rounds of files that were begun before
    files: tuple[ArchivedSpan, ...]


def archive(before: datetime | None, to: Path | None, config: Path | None, *, dry_run: bool, as_json: bool) -> None:
    """Take old, wholly settled rounds out of the store into signed files, which every reader still finds."""
    settings = settings_of(config)
    folder = to or settings.store.archive
    if folder is None:
        raise typer.BadParameter("name a folder, here or in store.archive", param_hint="--to")
    now = datetime.now(UTC)
    until = now - timedelta(days=settings.store.archive_days) if before is None else before.replace(tzinfo=UTC)
    if dry_run:
        done = asyncio.run(_archived(settings, folder, until, now, dry_run=True))
    else:
        with made_folders(folder, mode=0o700):
            done = asyncio.run(_archived(settings, folder, until, now, dry_run=False))
    if as_json:
        print_json(_document(settings, folder, done, dry_run=dry_run))
    else:
        _print(settings, folder, done, dry_run=dry_run)


async def _archived(settings: Settings, folder: Path, until: datetime, now: datetime, *, dry_run: bool) -> _Done:
    async with open_store(settings.store.url.get_secret_value()) as store:
        archiver = Archiver(store, folder, load_signer(settings.wallet), now)
        choice, left = await archiver.plan(until)
        if dry_run:
            return _Done(choice, left, ())
        with progress("archiving", STEPS * (choice.last - choice.first + 1) + left) as advance:
            moving = Archiver(store, folder, archiver.signer, now, advance=advance)
            return _Done(choice, left, tuple([span async for span in moving.run(until)]))


def _document(settings: Settings, folder: Path, done: _Done, *, dry_run: bool) -> dict[str, object]:
    choice = done.choice
    return {
        "location": str(settings.store.url),
        "folder": str(folder),
        "dry_run": dry_run,
        "first_round": choice.first if choice.last >= choice.first else None,
        "last_round": choice.last if choice.last >= choice.first else None,
        "held": choice.held,
        "left": done.left,
        "files": [span._asdict() for span in done.files],
    }


def _print(settings: Settings, folder: Path, done: _Done, *, dry_run: bool) -> None:
    choice = done.choice
    if done.files:
        print_table(
            [
                Column("file"),
                Column("rounds", right=True),
                Column("size", right=True),
                Column("sha256 of its manifest"),
            ],
            [(one.file, one.last_round - one.first_round + 1, readable(one.bytes), one.sha256) for one in done.files],
        )
    if dry_run and done.left:
        print_line(f"{done.left} rounds are in files and in the store still: they would be removed from the store")
    if choice.last < choice.first:
        print_line("no round may go")
    else:
        said = "would go into" if dry_run else "are in"
        print_line(f"rounds {choice.first} to {choice.last} {said} {folder}")
    if choice.held is not None:
        print_line(f"the rest stays: {choice.held}")
    if done.files and (settings.store.archive is None or settings.store.archive.resolve() != folder.resolve()):
        print_line(f"set store.archive to {folder}: replay, explain and audit export look there for these rounds")
