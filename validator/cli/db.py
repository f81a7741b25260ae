"""`validator db …`: the tables of the store, and copies of them."""

import asyncio
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from validator.audit.replay import RoundReplay, replay_rounds, round_ids
from validator.cli.errors import EXIT_NO
from validator.cli.options import Config, Json, group
from validator.cli.output import print_json, print_line
from validator.cli.rendering import print_table, progress
from validator.cli.replay import Summary, print_replay
from validator.cli.session import settings_of
from validator.daemon.exits import Exit
from validator.kinds.explained.words import count
from validator.protocol.errors import ValidatorError
from validator.protocol.limits import MAX_ROUND_ID
from validator.store import SchemaState, open_store, schema_state, upgrade
from validator.store.backup import amount, back_up, restoring
from validator.store.copying import copy_store, row_counts
from validator.store.rows import ArchivedSpan
from validator.store.urls import url_of

if TYPE_CHECKING:
    from validator.store.checking import Check

DB = group("db", "The store's tables.")
_ADVICE = (
    "what came after the backup is not in it, and weights that it does not know look like somebody else's: if the start"
    " ends with exit code 15 and no other program uses the hotkey, `validator weights unlock` declares them its own"
)


class NoParquetError(ValidatorError):
    """The extra `analysis` is not installed."""


@DB.command("upgrade")
def upgrade_(config: Config = None) -> None:
    """Make the tables, or bring them to this version. Stop the validator and make a backup first.

    Prints each migration of tables that are behind, with the seconds that it took; the whole is one transaction.
    """
    url = settings_of(config).store.url
    found = asyncio.run(_upgraded(url.get_secret_value()))
    print_line(f"{url}: {'is current' if found == 'current' else f'was {found}, is current now'}")


async def _upgraded(url: str) -> SchemaState:
    behind = await schema_state(url) == "behind"
    return await upgrade(url, lambda step, seconds: print_line(f"{step}  {seconds:.1f} s") if behind else None)


@DB.command()
def state(config: Config = None, as_json: Json = False) -> None:
    """Say how the tables relate to this version: empty, current, behind or ahead. Exit 1 unless current."""
    url = settings_of(config).store.url
    found = asyncio.run(schema_state(url.get_secret_value()))
    if as_json:
        print_json({"location": str(url), "state": found})
    else:
        print_line(found)
    if found != "current":
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

    To move for good, stop the validator first. A password is better in ~/.pgpass or $PGPASSWORD than in the url.
    """
    store = settings_of(config).store
    source = store.url.get_secret_value()
    rows = sum(asyncio.run(row_counts(source)).values())
    with progress("copying", rows) as advance:
        copied = asyncio.run(copy_store(source, target, lambda _table, many: advance(many)))
    if as_json:
        print_json({"tables": [found._asdict() for found in copied]})
    else:
        print_table("table rows> digest_of_all_rows", [(found.name, found.rows, found.digest) for found in copied])
        spans = asyncio.run(archived_spans(source))
        note_archives(spans, store.archive, "they serve the copy as well: keep store.archive as it is")


@DB.command()
def check(config: Config = None, as_json: Json = False) -> None:
    """Look for damage: pages, tables, references, digests, log, state. Exit 1: there is some; 17: in the file itself.

    Nothing is written, and a validator may be running. No round is scored again.
    """
    store = settings_of(config).store
    url = store.url
    found = asyncio.run(_checks(url.get_secret_value(), store.archive))
    if as_json:
        print_json({"location": str(url), "sound": not any(one.faults for one in found), "checks": found})
    else:
        print_table("check looked_at> faults>", [(one.name, one.looked, len(one.faults) + one.more) for one in found])
        for one in found:
            for fault in one.faults:
                print_line(f"{one.name}: {fault}")
            if one.more:
                print_line(f"{one.name}: {one.more} more")
    faulty = [one.name for one in found if one.faults]
    if faulty:
        raise typer.Exit(Exit.STORE_DAMAGED if "pages" in faulty else EXIT_NO)


async def _checks(url: str, archive: Path | None) -> "list[Check]":
    from validator.store.checking import checks  # noqa: PLC0415 - it compares with the migrations, which takes Alembic

    async with open_store(url, archive=archive) as store, store.read() as tx:
        return [one async for one in checks(tx, archive)]


@DB.command()
def export(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new folder.")],
    config: Config = None,
    table: Annotated[
        list[str] | None, typer.Option("--table", metavar="NAME", help="This table alone; may be given several times.")
    ] = None,
    since: Annotated[
        int, typer.Option("--since", metavar="ROUND", min=0, max=MAX_ROUND_ID, help="This round and all later ones.")
    ] = 0,
    as_json: Json = False,
) -> None:
    """Write the store's tables as Parquet files into a new folder, without anybody's bytes. A validator may be running.

    Needs the extra `analysis`. The files hold the truth of tasks.
    """
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
        print_table("table rows> file", [(one.name, one.rows, one.file) for one in written])


@DB.command()
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A new SQLite file.")],
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Write the store into a new SQLite file that its owner alone can read; a validator may be running."""
    store = settings_of(config).store
    url = store.url
    with progress("copying", amount(url.get_secret_value())) as advance:
        made = back_up(url.get_secret_value(), file, advance)
    spans = asyncio.run(archived_spans(url_of(file)))
    if as_json:
        said = {"file": str(made.file), "bytes": made.bytes, "sha256": made.sha256, "state": made.state}
        print_json({**said, "archives": [span.file for span in spans]})
        return
    print_line(f"{url} is in {made.file}: {made.bytes} bytes, sha256 {made.sha256}")
    if made.state != "current":
        print_line(f"its tables are {made.state} of this program, as those of the store are")
    note_archives(spans, store.archive, "the backup does not hold them: back up that folder as well")


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
        ids = asyncio.run(_newest(waiting.url, rounds))
        summary = Summary()
        replays: list[RoundReplay] = []
        with progress("replaying", len(ids)) as advance:
            for replayed in replay_rounds(waiting.url, ids, archive=settings.store.archive):
                replays.append(replayed)
                summary.add(replayed)
                advance()
        if summary.different:
            for replayed in replays:
                print_replay(replayed, as_json=as_json)
            print_line("nothing was restored: take an older backup")
            raise typer.Exit(EXIT_NO)
        spans = asyncio.run(archived_spans(waiting.url))
        waiting.take()
    equal = sum(replayed.verdict == "equal" for replayed in replays)
    newest = ids[-1] if ids else None
    if as_json:
        said = {"store": str(url), "file": str(file), "was": waiting.found, "newest_round": newest}
        print_json({**said, "replayed": len(replays), "equal": equal, "archives": [span.file for span in spans]})
        return
    print_line(f"{url} holds {file}, which was {waiting.found}; newest round {'none' if newest is None else newest}")
    print_line(f"{len(replays)} rounds replayed, {equal} equal, {len(replays) - equal} without scores")
    print_line(_ADVICE)
    note_archives(spans, settings.store.archive, "the backup did not hold them: have them there")


async def _newest(url: str, many: int) -> tuple[int, ...]:
    async with open_store(url) as store, store.read() as tx:
        return (await round_ids(tx))[-many:]


async def archived_spans(url: str) -> tuple[ArchivedSpan, ...]:
    """Return the files that a store names; none of tables of another version, which cannot be asked.

    Raises:
        StoreError: it cannot be opened.
    """
    if await schema_state(url) != "current":
        return ()
    async with open_store(url) as store, store.read() as tx:
        return await tx.archives.spans()


def note_archives(spans: tuple[ArchivedSpan, ...], folder: Path | None, does: str) -> None:
    """Say which files lie beside a store, and what is to be done about them; nothing where there are none.

    Args:
        spans: the files.
        folder: `store.archive`.
        does: as in "does not hold them: back them up as well".
    """
    if spans:
        many = count(len(spans), "archive file")
        place = "of which store.archive does not tell the folder" if folder is None else f"in {folder}"
        print_line(f"rounds {spans[0].first_round} to {spans[-1].last_round} are in {many} {place}; {does}")
