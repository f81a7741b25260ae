"""The played rounds in an archive file: written, read back and removed as `validator db archive` does it."""

import asyncio
import atexit
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import NamedTuple

from world import VALIDATOR

from samples.played_rounds import ROUNDS, played
from validator.store import Transaction, open_store
from validator.store.archive import ArchiveFile, archives_in, open_archive
from validator.store.archiving import Archiver
from validator.store.rows import ArchivedSpan


class Archived(NamedTuple):
    """A store whose rounds are all in a file, and the folder of that."""

    url: str
    folder: Path

    @property
    def file(self) -> ArchiveFile:
        """The file."""
        return open_archive(archives_in(self.folder)[0])


@cache
def archived() -> Archived:
    """Return a store of the played rounds, archived."""
    folder = tempfile.TemporaryDirectory(prefix="archived")
    atexit.register(folder.cleanup)
    there = _copied(Path(folder.name))
    asyncio.run(_archive(there))
    return there


def archiving_s() -> float:
    """Return the CPU that archiving the played rounds takes, in its own store."""
    with tempfile.TemporaryDirectory(prefix="archived") as folder:
        there = _copied(Path(folder))
        began = time.process_time()
        asyncio.run(_archive(there))
        return time.process_time() - began


def reading_ms(url: str, folder: Path | None = None) -> float:
    """Return the CPU that a store which was opened just now takes to read what came back in one round."""

    async def read(tx: Transaction) -> object:
        return await tx.submissions.results(ROUNDS // 2)

    return asyncio.run(_asked(url, folder, read)) * 1_000


async def _asked(url: str, folder: Path | None, question: Callable[[Transaction], Awaitable[object]]) -> float:
    async with open_store(url, archive=folder) as store, store.read() as tx:
        began = time.process_time()
        await question(tx)
        return time.process_time() - began


def _copied(folder: Path) -> Archived:
    path = folder / "store.sqlite"
    shutil.copy(played().removeprefix("sqlite:///"), path)
    (folder / "files").mkdir()
    return Archived(f"sqlite:///{path}", folder / "files")


async def _archive(there: Archived) -> None:
    """Do as `Archiver.run`, which would keep rounds as new as these."""
    async with open_store(there.url) as store:
        archiver = Archiver(store, there.folder, VALIDATOR, datetime.now(UTC))
        found = open_archive(await archiver.write(0, ROUNDS - 1))
        await archiver.require_same(found, -1)
        span = ArchivedSpan(0, ROUNDS - 1, found.path.name, found.sha256, found.size, -1, archiver.now)
        async with store.begin() as tx:
            await tx.archives.add(span)
        await archiver.remove(span)
