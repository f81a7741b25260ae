"""What a copy of a store leaves out: the files of its old rounds."""

from pathlib import Path

from validator.cli.output import print_line
from validator.store import open_store, schema_state
from validator.store.archived import ArchivedSpan


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
        many = f"{len(spans)} archive {'file' if len(spans) == 1 else 'files'}"
        place = "of which store.archive does not tell the folder" if folder is None else f"in {folder}"
        print_line(f"rounds {spans[0].first_round} to {spans[-1].last_round} are in {many} {place}; {does}")
