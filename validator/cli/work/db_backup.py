"""What `validator db backup` and `db restore` do: a store as one file, and back."""

import asyncio
from pathlib import Path

import typer

from validator.audit.replay import RoundReplay, replay_rounds, round_ids
from validator.cli.archived_note import archived_spans, note_archives
from validator.cli.configured import settings_of
from validator.cli.errors import EXIT_NO
from validator.cli.output import print_json, print_line
from validator.cli.progress import progress
from validator.cli.replay_text import Summary, print_replay
from validator.store import open_store
from validator.store.backup import amount, back_up, restoring
from validator.store.urls import url_of

_ADVICE = (
    "what came after the backup is not in it, and weights that it does not know look like somebody else's: if the start"
    " ends with exit code 15 and no other program uses the hotkey, `validator weights unlock` declares them its own"
)


def backup(file: Path, config: Path | None, *, as_json: bool) -> None:
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


def restore(file: Path, config: Path | None, rounds: int, *, as_json: bool) -> None:
    """Put a backup in the place of a store that is not there. Exit 1: its newest rounds differ, nothing is put."""
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
