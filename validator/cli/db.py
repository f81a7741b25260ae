"""`validator db …`: the tables of the store, copies of them, its size, and the removal of old rows."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sssa.cli.errors import EXIT_NO
from sssa.cli.options import Config, Json, group
from sssa.cli.output import byte_size, print_json, print_line
from sssa.cli.rendering import print_listing, print_table, progress
from validator.audit.replay import RoundReplay, replay_rounds
from validator.cli.replay import Summary, print_replay
from validator.cli.session import settings_of, use_store
from validator.daemon.exits import Exit
from validator.settings.model import Settings, StoreSettings
from validator.store import SchemaState, Store, open_store, schema_state, upgrade
from validator.store.backup import amount, back_up, restoring
from validator.store.copying import copy_store, row_counts
from validator.store.pruning import prune
from validator.store.size import store_size, table_sizes

if TYPE_CHECKING:
    from validator.store.checking import Check

DB = group()
_ADVICE = (
    "what came after the backup is not in it, and weights that it does not know look like somebody else's: if the start"
    " ends with exit code 15 and no other program uses the hotkey, `validator weights unlock --reason TEXT` declares"
    " them its own"
)


@DB.command("upgrade")
def upgrade_(config: Config = None) -> None:
    """Make the tables, or bring them to this version. Stop the validator and make a backup first.

    Prints each migration of tables that are behind, with the seconds that it took; the whole is one transaction.
    """
    url = settings_of(config).store.url
    secret = url.get_secret_value()

    async def upgraded() -> SchemaState:
        behind = await schema_state(secret) == "behind"
        return await upgrade(secret, lambda step, seconds: print_line(f"{step}  {seconds:.1f} s") if behind else None)

    before = asyncio.run(upgraded())
    print_line(f"{url}: {'is current' if before == 'current' else f'was {before}, is current now'}")


@DB.command()
def state(config: Config = None, as_json: Json = False) -> None:
    """Say how the tables relate to this version: empty, current, behind or ahead. Exit 1 unless current."""
    url = settings_of(config).store.url
    schema = asyncio.run(schema_state(url.get_secret_value()))
    if as_json:
        print_json({"location": str(url), "state": schema})
    else:
        print_line(schema)
    if schema != "current":
        raise typer.Exit(EXIT_NO)


@DB.command()
def copy(
    target: Annotated[
        str, typer.Argument(metavar="TARGET_URL", help="A new database: sqlite:///path or postgresql://…")
    ],
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Copy the whole store into an empty one, here or on the other database, and compare every row.

    To move permanently, stop the validator first. A password is better in ~/.pgpass or $PGPASSWORD than in the url.
    """
    source = settings_of(config).store.url.get_secret_value()
    rows = sum(asyncio.run(row_counts(source)).values())
    with progress("copying", rows) as advance:
        copied = asyncio.run(copy_store(source, target, lambda _table, many: advance(many)))
    print_listing("tables", copied, "table=name rows> digest_of_all_rows=digest", as_json=as_json)


@DB.command()
def check(config: Config = None, as_json: Json = False) -> None:
    """Look for damage: pages, tables, references, digests, log, state. Exit 1: there is some; 17: in the file itself.

    Nothing is written, and a validator may be running. No round is scored again.
    """
    settings = settings_of(config)
    checked = use_store(settings, _checks)
    if as_json:
        print_json(
            {"location": str(settings.store.url), "sound": not any(one.faults for one in checked), "checks": checked}
        )
    else:
        print_table("check looked_at> faults>", [(one.name, one.looked, len(one.faults) + one.more) for one in checked])
        for one in checked:
            for fault in one.faults:
                print_line(f"{one.name}: {fault}")
            if one.more:
                print_line(f"{one.name}: {one.more} more")
    faulty = [one.name for one in checked if one.faults]
    if faulty:
        raise typer.Exit(Exit.STORE_DAMAGED if "pages" in faulty else EXIT_NO)


async def _checks(store: Store, _: Settings) -> "list[Check]":
    """Look in a transaction for each check: an open one keeps SQLite's write-ahead log from being emptied."""
    from validator.store.checking import LOOKS, checks  # noqa: PLC0415 - it compares with the migrations: Alembic

    checked: list[Check] = []
    for name in LOOKS:
        async with store.read() as tx:
            checked += [one async for one in checks(tx, (name,))]
        if checked and checked[0].name == "pages" and checked[0].faults:
            break
    return checked


@DB.command()
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A new SQLite file.")],
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Write the store into a new SQLite file that its owner alone can read; a validator may be running."""
    url = settings_of(config).store.url
    with progress("copying", amount(url.get_secret_value())) as advance:
        made = back_up(url.get_secret_value(), file, advance)
    if as_json:
        print_json(made)
        return
    print_line(f"{url} is in {made.file}: {made.bytes} bytes, sha256 {made.sha256}")
    if made.state != "current":
        print_line(f"its tables are {made.state} of this program, as those of the store are")


@DB.command()
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `db backup` wrote.")],
    config: Config = None,
    rounds: Annotated[
        int, typer.Option("--rounds", metavar="N", min=1, max=100_000, help="How many of the newest are replayed.")
    ] = 20,
    as_json: Json = False,
) -> None:
    """Put a backup in the place of a store that is not there. Exit 1: its newest rounds differ, nothing is put.

    First the backup is read in whole and brought to this version's tables, and its newest rounds are computed again.
    """
    settings = settings_of(config)
    url = settings.store.url
    with restoring(file, url.get_secret_value()) as waiting:
        replays = asyncio.run(_replayed(waiting.url, rounds))
        summary = Summary()
        for replayed in replays:
            summary.add(replayed)
        if summary.different:
            for replayed in replays:
                print_replay(replayed, as_json=as_json)
            print_line("nothing was restored: take an older backup")
            raise typer.Exit(EXIT_NO)
        waiting.take()
    equal = sum(replayed.verdict == "equal" for replayed in replays)
    newest = replays[-1].round_id if replays else None
    if as_json:
        place = {"store": str(url), "file": str(file), "was": waiting.state, "newest_round": newest}
        print_json({**place, "replayed": len(replays), "equal": equal})
        return
    print_line(f"{url} holds {file}, which was {waiting.state}; newest round {'none' if newest is None else newest}")
    print_line(f"{len(replays)} rounds replayed, {equal} equal, {len(replays) - equal} without scores")
    print_line(_ADVICE)


async def _replayed(url: str, many: int) -> list[RoundReplay]:
    """Replay the newest rounds; their rows have to be those of their records, too."""
    from validator.store.row_check import row_faults  # noqa: PLC0415 - as heavy as replay

    async with open_store(url) as store:
        async with store.read() as tx:
            ids = (await tx.rounds.ids())[-many:]
        with progress("replaying", len(ids)) as advance:
            replays = []
            async for replayed in replay_rounds(store, ids):
                async with store.read() as tx:
                    faults = await row_faults(tx, replayed.round_id)
                differs = bool(faults) and replayed.difference is None
                replays.append(replace(replayed, verdict="different", difference=faults[0]) if differs else replayed)
                advance()
            return replays


@DB.command("prune")
def prune_(config: Config = None, as_json: Json = False) -> None:
    """Remove now what the settings no longer keep: raw answers and bundles. A validator may be running."""
    settings = settings_of(config)
    kept, now = _kept_days(settings.store), datetime.now(UTC)

    async def work(store: Store, _: Settings) -> None:
        async with store.read() as tx:
            before = {one.name: one for one in await table_sizes(tx.connection)}
        answers, bundles = (now - timedelta(days=days) for days in kept.values())
        removed = await prune(store, answers_before=answers, bundles_before=bundles)
        async with store.read() as tx:
            after = {one.name: one for one in await table_sizes(tx.connection)}
            size = await store_size(tx.connection)
        rows = [(name, days, getattr(removed, name), before[name], after[name]) for name, days in kept.items()]
        if as_json:
            tables = [
                {
                    "table": name,
                    "kept_days": days,
                    "removed": gone,
                    "rows_before": was.rows,
                    "rows_after": then.rows,
                    "bytes_before": was.bytes,
                    "bytes_after": then.bytes,
                }
                for name, days, gone, was, then in rows
            ]
            print_json({"location": str(settings.store.url), "tables": tables, "store": size})
            return
        print_table(
            "table kept,_days> rows_removed> rows_before> rows_after> before> after>",
            [
                (name, days, gone, was.rows, then.rows, byte_size(was.bytes), byte_size(then.bytes))
                for name, days, gone, was, then in rows
            ],
        )
        free = byte_size(size.reusable)
        print_line(f"the store has {byte_size(size.bytes)}, of which {free} are free to be filled again")

    use_store(settings, work)


def _kept_days(store: StoreSettings) -> dict[str, int]:
    """Return how long the rows of tables are kept that lose them again."""
    return {"answers": store.retention_raw_days, "bundles": store.retention_bundles_days}
