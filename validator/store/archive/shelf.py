"""The files that hold the store's old rounds, opened where somebody asks for one of them."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from sqlalchemy.ext.asyncio import AsyncConnection

from validator.store.archive.file import ArchiveFile, open_known
from validator.store.archive.loading import load_block
from validator.store.archived import ArchivedSpan
from validator.store.errors import ArchivedError
from validator.store.memory import Memory
from validator.store.packing import Packing
from validator.store.repositories.archives import Archives

_FILES: Final = 8  # whose manifests are kept
_BLOCKS: Final = 2  # kept in memory beside those that are being read


@dataclass(slots=True)
class _Held:
    """A block in memory, and how many transactions read it."""

    block: Memory
    readers: int = 0
    let_go: bool = False

    async def close_if_unused(self) -> None:
        if self.let_go and not self.readers:
            await self.block.close()


@dataclass(slots=True)
class Shelf:
    """The archives of one open store. Use it from one event loop.

    Args:
        folder: that has the files; None where nobody said which.
    """

    folder: Path | None
    _files: OrderedDict[str, ArchiveFile] = field(init=False, default_factory=OrderedDict)
    _blocks: OrderedDict[tuple[str, int], _Held] = field(init=False, default_factory=OrderedDict)
    _loading: asyncio.Lock = field(init=False, default_factory=asyncio.Lock)

    async def close(self) -> None:
        """Let go of all blocks; nobody reads any more."""
        for held in self._blocks.values():
            await held.block.close()
        self._blocks.clear()

    def file(self, span: ArchivedSpan, asked: str) -> ArchiveFile:
        """Return an opened file.

        Args:
            span: which one.
            asked: what somebody asks for, for the message.

        Raises:
            ArchivedError: nobody said which folder has it.
            ArchiveError: the file cannot be used.
        """
        if self.folder is None:
            raise ArchivedError(
                f"{asked} is in {span.file}, with rounds {span.first_round} to {span.last_round};"
                " name the folder of this file in store.archive"
            )
        if span.sha256 not in self._files:
            self._files[span.sha256] = open_known(self.folder, span)
            if len(self._files) > _FILES:
                self._files.popitem(last=False)
        return self._files[span.sha256]

    async def take(self, found: ArchiveFile, number: int) -> _Held:
        """Return a block in memory for one more reader, and keep it as one of the newest."""
        key = (found.sha256, number)
        async with self._loading:
            if key not in self._blocks:
                self._blocks[key] = _Held(await load_block(found, number))
        held = self._blocks[key]
        held.readers += 1
        self._blocks.move_to_end(key)
        while len(self._blocks) > _BLOCKS:
            _, old = self._blocks.popitem(last=False)
            old.let_go = True
            await old.close_if_unused()
        return held


@dataclass(slots=True)
class ReadPlaces:
    """Where the rows of rounds are, as one transaction sees it; close it at its end.

    Args:
        shelf: of the store.
    """

    shelf: Shelf
    _spans: tuple[ArchivedSpan, ...] | None = field(init=False, default=None)
    _held: list[_Held] = field(init=False, default_factory=list)

    async def of_round(self, round_id: int, store: AsyncConnection) -> AsyncConnection:
        """See `Places`."""
        span = next((one for one in await self._known(store) if one.first_round <= round_id <= one.last_round), None)
        if span is None or round_id > span.removed_through:
            return store
        found = self.shelf.file(span, f"round {round_id}")
        return await self._read(found, found.block_of(round_id))

    async def of_miner(self, hotkey: str, store: AsyncConnection) -> AsyncIterator[tuple[AsyncConnection, int]]:
        """See `Places`."""
        spans = await self._known(store)
        if not spans or not await Archives(store, Packing(threads=False)).pairs({hotkey}):
            return
        for span in reversed(spans):
            if span.removed_through < span.first_round:
                continue
            found = self.shelf.file(span, f"what {hotkey} did in older rounds")
            blocks = found.manifest.blocks
            for number in reversed(range(len(blocks))):
                block = blocks[number]
                if hotkey in block.hotkeys and block.first_round <= span.removed_through:
                    yield await self._read(found, number), span.removed_through

    async def close(self) -> None:
        """The transaction is over."""
        while self._held:
            held = self._held.pop()
            held.readers -= 1
            await held.close_if_unused()

    async def _read(self, found: ArchiveFile, number: int) -> AsyncConnection:
        held = await self.shelf.take(found, number)
        await self.close()  # one after the other: a long reader goes through all of them
        self._held.append(held)
        return held.block.connection

    async def _known(self, store: AsyncConnection) -> tuple[ArchivedSpan, ...]:
        if self._spans is None:
            self._spans = await Archives(store, Packing(threads=False)).spans()
        return self._spans
