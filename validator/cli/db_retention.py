"""`validator db prune`, `archive` and `forecast`: the size of the store, and the removal of old rows."""

import asyncio
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from validator.chain.wallet import load_signer
from validator.cli.options import Config, Json
from validator.cli.output import byte_size, print_json, print_line
from validator.cli.rendering import print_table, progress
from validator.cli.session import settings_of
from validator.files import made_folders
from validator.settings import Settings, StoreSettings
from validator.store import open_store
from validator.store.archiving import STEPS, Archiver, Choice, prune
from validator.store.forecast import (
    KEPT_ROUNDS,
    Files,
    Forecast,
    Growth,
    KindForecast,
    StoreSize,
    TableSize,
    files_of,
    forecast,
    growth,
    store_size,
    table_sizes,
)
from validator.store.rows import ArchivedSpan, Pruned
from validator.store.urls import parse_url


class _Done(NamedTuple):
    choice: Choice
    left: int  # rounds of files that were begun before
    files: tuple[ArchivedSpan, ...]


def prune_(config: Config = None, as_json: Json = False) -> None:
    """Remove now what the settings no longer keep: raw answers and bundles. A validator may be running."""
    settings = settings_of(config)
    removed, before, after, size = asyncio.run(_pruned(settings))
    kept = kept_days(settings.store)
    rows = [
        {"table": name, "kept_days": kept[name], "removed": getattr(removed, name), **_sizes(name, before, after)}
        for name in kept
    ]
    if as_json:
        print_json({"location": str(settings.store.url), "tables": rows, "store": size._asdict()})
        return
    print_table(
        "table kept,_days> rows_removed> rows_before> rows_after> before> after>",
        [
            (
                row["table"],
                row["kept_days"],
                row["removed"],
                row["rows_before"],
                row["rows_after"],
                byte_size(row["bytes_before"]),
                byte_size(row["bytes_after"]),
            )
            for row in rows
        ],
    )
    print_line(
        f"the store has {byte_size(size.bytes)}, of which {byte_size(size.reusable)} are free to be filled again"
    )


def _sizes(name: str, before: dict[str, TableSize], after: dict[str, TableSize]) -> dict[str, int]:
    was, now = before[name], after[name]
    return {"rows_before": was.rows, "rows_after": now.rows, "bytes_before": was.bytes, "bytes_after": now.bytes}


async def _pruned(settings: Settings) -> tuple[Pruned, dict[str, TableSize], dict[str, TableSize], StoreSize]:
    now = datetime.now(UTC)
    answers, bundles = (timedelta(days=days) for days in kept_days(settings.store).values())
    async with open_store(settings.store.url.get_secret_value()) as store:
        async with store.read() as tx:
            before = {one.name: one for one in await table_sizes(tx.connection)}
        removed = await prune(store, answers_before=now - answers, bundles_before=now - bundles)
        async with store.read() as tx:
            after = {one.name: one for one in await table_sizes(tx.connection)}
            return removed, before, after, await store_size(tx.connection)


def archive(
    before: Annotated[
        datetime | None,
        typer.Option("--before", metavar="DATE", help="Rounds that ended before, UTC; else store.archive_days ago."),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="DIR", file_okay=False, help="The folder for the files; else store.archive."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go; write and remove nothing.")] = False,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Take old, wholly settled rounds out of the store into signed files, which every reader still finds.

    A validator may be running. What something still needs stays: the newest rounds, open ones, secret salts, executions
    and code checks that are not over. Run it again after it was stopped: it goes on where it was.
    """
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
            "file rounds> size> sha256_of_its_manifest",
            [(one.file, one.last_round - one.first_round + 1, byte_size(one.bytes), one.sha256) for one in done.files],
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


def forecast_(config: Config = None, as_json: Json = False) -> None:
    """Say how large the store is, what a round adds to each table, and what a year of rounds comes to."""
    settings = settings_of(config)
    found, files, kept = asyncio.run(_forecast(settings))
    grown = growth(found.pace, found.tables, kept_days(settings.store), settings.store.archive_days, files)
    room = room_of(settings.store, found.size, grown)
    if as_json:
        said = {
            "location": str(settings.store.url),
            "store": found.size._asdict(),
            "rounds": found.pace._asdict(),
            "tables": [one._asdict() for one in found.tables],
            "in_a_year": found.in_a_year,
            "kept_bytes": kept,
        }
        print_json({**said, **growth_document(grown, room)})
        return
    print_table(
        "table kept rows> now> a_round> in_a_year>",
        [
            (
                one.name,
                "for good" if one.kept_days is None else f"{one.kept_days} days",
                one.rows,
                byte_size(one.bytes),
                byte_size(one.per_round),
                byte_size(one.in_a_year),
            )
            for one in found.tables
            if one.rows
        ],
    )
    print_line("")
    print_growth(grown, room)
    pace, size = found.pace, found.size
    if kept:
        hotkey, most = next(iter(kept.items()))
        print_line(
            f"answers of the newest {min(KEPT_ROUNDS, pace.rounds)} rounds keep {byte_size(sum(kept.values()))} "
            f"permanently, those of {hotkey} most: {byte_size(most)}"
        )
    per_day = "too few to tell a pace" if pace.per_day is None else f"{pace.per_day:.1f} a day"
    print_line(f"{pace.rounds} rounds in {pace.days:.2f} days, {per_day}")
    print_line(
        f"now {byte_size(size.bytes)} ({byte_size(size.reusable)} of it free), in a year {byte_size(found.in_a_year)}"
    )


def kept_days(store: StoreSettings) -> dict[str, int]:
    """Return for how long the rows of tables are kept that lose them again."""
    return {"answers": store.retention_raw_days, "bundles": store.retention_bundles_days}


async def _forecast(settings: Settings) -> tuple[Forecast, Files, dict[str, int]]:
    async with open_store(settings.store.url.get_secret_value()) as store, store.read() as tx:
        found = await forecast(tx.connection, kept_days(settings.store))
        return found, await files_of(tx.connection), await tx.dispatches.kept_bytes(KEPT_ROUNDS)


class Room(NamedTuple):
    """When the disk is full.

    Attributes:
        free: bytes where the store lies, and in it; None for Postgres, which does not tell.
        plain, archived: after so many days without archiving, and with it; None where that cannot be told, or it is
            more than a century.
    """

    free: int | None
    plain: int | None
    archived: int | None


def room_of(settings: StoreSettings, size: StoreSize, found: Growth) -> Room:
    """Return for how long there is room where the store lies.

    Raises:
        OSError: the disk cannot be asked.
    """
    path = parse_url(settings.url.get_secret_value()).path
    if path is None:
        return Room(None, None, None)
    free = shutil.disk_usage(path.parent).free + size.reusable
    folder = settings.archive
    beside = folder is None or not folder.exists() or folder.stat().st_dev == path.stat().st_dev
    return Room(
        free,
        found.full_after(free, archived=False, files_too=beside),
        found.full_after(free, archived=True, files_too=beside),
    )


def growth_document(found: Growth, room: Room) -> dict[str, Any]:
    """Return it for `--json`."""
    return {
        "kinds": [one._asdict() for one in found.kinds],
        "archives": {**found.files._asdict(), "in_a_year": found.files_after(365)},
        "archive_days": found.archive_days,
        "free": room.free,
        "full_in_days": room.plain,
        "full_in_days_archived": room.archived,
    }


def print_growth(found: Growth, room: Room) -> None:
    """Print a line for each kind, then for how long there is room."""
    files = found.files
    print_table(
        "kind in_the_store now> a_round> in_a_year> archived,_in_a_year>",
        [
            *(
                (
                    one.kind,
                    _kept(one),
                    byte_size(one.bytes),
                    byte_size(one.per_round),
                    byte_size(one.in_a_year),
                    byte_size(one.archived_in_a_year),
                )
                for one in found.kinds
            ),
            (
                "archive files",
                "beside it",
                byte_size(files.bytes),
                byte_size(files.per_round),
                byte_size(files.bytes),
                byte_size(found.files_after(365)),
            ),
        ],
    )
    if room.free is None:
        print_line("how much room a Postgres server has, it does not tell")
        return
    if found.pace.per_day is None:
        print_line(f"{byte_size(room.free)} are free; for how long cannot be told yet")
        return
    print_line(
        f"{byte_size(room.free)} are free: full {_when(room.plain)}; {_when(room.archived)} with"
        f" `validator db archive` after {found.archive_days} days"
    )


def _kept(one: KindForecast) -> str:
    if one.kept_days is None:
        return "for good"
    return f"for good, or archived after {one.kept_days} days" if one.kind == "rounds" else f"{one.kept_days} days"


def _when(days: int | None) -> str:
    return "not within a century" if days is None else f"in {days} days"
