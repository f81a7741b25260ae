"""The files that hold the store's old rounds, opened where somebody asks for one of them."""

from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from sqlalchemy.ext.asyncio import AsyncConnection

from validator.store.archive.file import ArchiveFile, open_known
from validator.store.archived import ArchivedSpan
from validator.store.errors import ArchivedError
from validator.store.packing import Packing
from validator.store.repositories.archives import Archives

_FILES: Final = 8  # whose manifests are kept


@dataclass(slots=True)
class Shelf:
    """The archives of one open store. Use it from one event loop.

    Args:
        folder: that has the files; None where nobody said which.
    """

    folder: Path | None
    _files: OrderedDict[str, ArchiveFile] = field(init=False, default_factory=OrderedDict)

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


@dataclass(slots=True)
class ReadPlaces:
    """Where the records of rounds are, as one transaction sees it.

    Args:
        shelf: of the store.
    """

    shelf: Shelf
    _spans: tuple[ArchivedSpan, ...] | None = field(init=False, default=None)

    async def frames(self, round_id: int, part: int, most: int, store: AsyncConnection) -> list[bytes] | None:
        """See `Places`."""
        if self._spans is None:
            self._spans = await Archives(store, Packing()).spans()
        span = next((one for one in self._spans if one.first_round <= round_id <= one.last_round), None)
        if span is None or round_id > span.removed_through:
            return None
        return self.shelf.file(span, f"round {round_id}").frames(round_id, part, most)
