"""Whether the files that the store names are there and whole."""

import asyncio
from pathlib import Path

from sqlalchemy.ext.asyncio import AsyncConnection

from validator.store.archive.file import ArchiveFile, archives_in, open_known, refused
from validator.store.errors import ArchiveError
from validator.store.transaction import Transaction


async def archived_rounds(connection: AsyncConnection) -> int:
    """Return how many rounds are in files alone."""
    return await Transaction(connection).archives.removed_through() + 1


async def archive_faults(connection: AsyncConnection, folder: Path | None) -> list[str]:
    """Return what is wrong with the archives.

    Args:
        connection: a read transaction.
        folder: that has the files, each of which is read in whole; None looks at the store's own rows alone.
    """
    tx = Transaction(connection)
    spans = await tx.archives.spans()
    found = []
    following = 0
    for span in spans:
        if span.first_round != following:
            found.append(f"{span.file} begins with round {span.first_round} where {following} follows")
        following = span.last_round + 1
    if folder is None:
        return found
    owner = await tx.receipts.last_receipt()
    for span in spans:
        try:
            file = open_known(folder, span)
            if owner is not None and file.manifest.validator_hotkey != owner.validator_hotkey:
                raise refused(file.path, f"is of the validator {file.manifest.validator_hotkey}")
            await asyncio.to_thread(_read_in_whole, file)
        except ArchiveError as error:
            found.append(error.detail)
    known = {span.file for span in spans}
    return found + [
        f"{path} is no file that the store knows: left by a run that was killed, or a copy"
        for path in archives_in(folder)
        if path.name not in known
    ]


def _read_in_whole(file: ArchiveFile) -> None:
    for round_id in range(file.manifest.first_round, file.manifest.last_round + 1):
        file.frames(round_id)
