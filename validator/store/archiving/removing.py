"""Records that are in a file out of the store: in short transactions, each of which may be the last."""

from typing import Final

from sqlalchemy import delete

from validator.store.archived import ArchivedSpan
from validator.store.archiving.choosing import waiting
from validator.store.archiving.writing import Advance
from validator.store.engine import Store
from validator.store.errors import ArchiveError
from validator.store.tables import records

_ROUNDS: Final = 8  # in a transaction


async def remove(store: Store, span: ArchivedSpan, advance: Advance) -> None:
    """Remove the records of a file's rounds that are still in the store; the file was compared with them.

    Args:
        store: a validator may be running on it.
        span: the file.
        advance: called after each round.

    Raises:
        ArchiveError: something needs a round again; what was removed until then stays removed.
        StoreError: the store cannot be written, or somebody else does the same.
    """
    after = span.removed_through
    while after < span.last_round:
        through = min(after + _ROUNDS, span.last_round)
        async with store.begin() as tx:
            for why, round_id in (await waiting(tx.connection, after + 1, through)).items():
                if round_id is not None:
                    raise ArchiveError(f"round {round_id} {why}; run the command again when it is")
            await tx.connection.execute(delete(records).where(records.c.round_id.between(after + 1, through)))
            await tx.archives.advance(span.first_round, after, through)
        for _ in range(after, through):
            advance()
        after = through
