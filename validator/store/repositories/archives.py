"""Which rounds lie in archive files."""

from typing import Any

from sqlalchemy import Row, func, insert, select, update

from validator.store.archived import ArchivedSpan
from validator.store.errors import MismatchError
from validator.store.repositories.base import Repository
from validator.store.tables import archives

_A = archives.c


class Archives(Repository):
    """Files by the rounds that they hold; they follow each other without a gap."""

    async def spans(self) -> tuple[ArchivedSpan, ...]:
        """Return every file, oldest rounds first."""
        return tuple(map(_span, await self._all(select(archives).order_by(_A.first_round))))

    async def removed_through(self) -> int:
        """Return the newest round whose record is in a file alone, -1 where there is none."""
        newest = await self._scalar(select(func.max(_A.removed_through)))
        return -1 if newest is None else int(newest)

    async def add(self, span: ArchivedSpan) -> None:
        """Note a file that is whole; nothing of its rounds is removed yet.

        Raises:
            MismatchError: its rounds do not follow those of the file before.
        """
        following = await self._next(archives, "last_round")
        if span.first_round != following or span.removed_through != following - 1:
            raise MismatchError(f"an archive from round {span.first_round} on where {following} is the next")
        await self._connection.execute(insert(archives).values(**span._asdict()))

    async def advance(self, first_round: int, before: int, through: int) -> None:
        """Note that the records of a file's rounds are removed up to and with `through`.

        Raises:
            MismatchError: somebody else has removed some meanwhile.
        """
        mine = (_A.first_round == first_round) & (_A.removed_through == before)
        if not await self._changed(update(archives).where(mine).values(removed_through=through)):
            raise MismatchError("another `validator db archive` is at it")


def _span(row: Row[Any]) -> ArchivedSpan:
    return ArchivedSpan(**row._asdict())
