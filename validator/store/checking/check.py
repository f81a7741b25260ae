"""One thing that was looked at in a store, and what is wrong with it."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import Row
from sqlalchemy.ext.asyncio import AsyncConnection

from validator.protocol.text import printable

FAULTS_SHOWN: Final = 20  # of one check
_PARTITION: Final = 8


@dataclass(slots=True)
class Check:
    """One thing that was looked at.

    Attributes:
        name: `pages`, `tables`, `references`, `digests`, `receipts`, `kept` or `archives`.
        looked: how many: lines of SQLite's own report, tables, references, documents, receipts, pairs, archived rounds.
        faults: what is wrong, printable; at most `FAULTS_SHOWN`.
        more: how many faults are not among them.
    """

    name: str
    looked: int = 0
    faults: list[str] = field(default_factory=list)
    more: int = 0

    def fault(self, text: str) -> None:
        """Note what is wrong."""
        if len(self.faults) < FAULTS_SHOWN:
            self.faults.append(printable(text, 300))
        else:
            self.more += 1


async def partitions(connection: AsyncConnection, statement: Any) -> AsyncIterator[Sequence[Row[Any]]]:
    """Yield the rows of a statement, a few at a time: each may be large."""
    result = await connection.stream(statement)
    async for rows in result.partitions(_PARTITION):
        yield rows
