"""What `validator db prune` and `db forecast` do: how large the store is, is made, and will be."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

from validator.cli.configured import settings_of
from validator.cli.growth_text import growth_document, print_growth, room_of
from validator.cli.output import print_json, print_line
from validator.cli.sizes import readable
from validator.cli.tables import Column, print_table
from validator.settings import Settings, StoreSettings
from validator.store import open_store
from validator.store.archiving.estimating import files_of
from validator.store.forecast import KEPT_ROUNDS, Forecast, forecast
from validator.store.growth import Files, growth
from validator.store.pruning import prune
from validator.store.records import Pruned
from validator.store.sizes import StoreSize, TableSize, store_size, table_sizes


def prune_(config: Path | None, *, as_json: bool) -> None:
    """Remove now what the settings no longer keep. A validator may be running."""
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
        [Column("table"), Column("kept, days", right=True), Column("rows removed", right=True)]
        + [Column(name, right=True) for name in ("rows before", "rows after", "before", "after")],
        [
            (
                row["table"],
                row["kept_days"],
                row["removed"],
                row["rows_before"],
                row["rows_after"],
                readable(row["bytes_before"]),
                readable(row["bytes_after"]),
            )
            for row in rows
        ],
    )
    print_line(f"the store has {readable(size.bytes)}, of which {readable(size.reusable)} are free to be filled again")


def forecast_(config: Path | None, *, as_json: bool) -> None:
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
        [Column("table"), Column("kept")]
        + [Column(name, right=True) for name in ("rows", "now", "a round", "in a year")],
        [
            (
                one.name,
                "for good" if one.kept_days is None else f"{one.kept_days} days",
                one.rows,
                readable(one.bytes),
                readable(one.per_round),
                readable(one.in_a_year),
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
            f"answers of the newest {min(KEPT_ROUNDS, pace.rounds)} rounds keep {readable(sum(kept.values()))} "
            f"permanently, those of {hotkey} most: {readable(most)}"
        )
    per_day = "too few to tell a pace" if pace.per_day is None else f"{pace.per_day:.1f} a day"
    print_line(f"{pace.rounds} rounds in {pace.days:.2f} days, {per_day}")
    print_line(
        f"now {readable(size.bytes)} ({readable(size.reusable)} of it free), in a year {readable(found.in_a_year)}"
    )


def kept_days(store: StoreSettings) -> dict[str, int]:
    """Return for how long the rows of tables are kept that lose them again."""
    return {"answers": store.retention_raw_days, "bundles": store.retention_bundles_days}


def _sizes(name: str, before: dict[str, TableSize], after: dict[str, TableSize]) -> dict[str, int]:
    was, now = before[name], after[name]
    return {
        "rows_before": was.rows,
        "rows_after": now.rows,
        "bytes_before": was.bytes,
        "bytes_after": now.bytes,
    }


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


async def _forecast(settings: Settings) -> tuple[Forecast, Files, dict[str, int]]:
    async with open_store(settings.store.url.get_secret_value()) as store, store.read() as tx:
        found = await forecast(tx.connection, kept_days(settings.store))
        return found, await files_of(tx.connection), await tx.dispatches.kept_bytes(KEPT_ROUNDS)
