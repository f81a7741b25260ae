"""Rows whose rounds are in a file out of the tables: in short transactions, each of which may be the last."""

from collections.abc import Mapping
from typing import Final

from sqlalchemy import delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from validator.store.archive.rows import LEAVING, runs_by_round, runs_of
from validator.store.archived import ArchivedSpan
from validator.store.archiving.choosing import folded_behind, folded_in, waiting
from validator.store.archiving.writing import Advance
from validator.store.engine import Store
from validator.store.errors import ArchiveError
from validator.store.inputs import BLOCK
from validator.store.tables import dispatches, folded_rounds, reputation_events, rounds, sssas, workflow_runs

_ROUNDS: Final = 8  # in a transaction: some thousand rows


async def remove(store: Store, span: ArchivedSpan, advance: Advance) -> None:
    """Remove the rows of a file's rounds that are still in the store; the file was held against them.

    Args:
        store: a validator may be running on it.
        span: the file.
        advance: called after each round.

    Raises:
        ArchiveError: something needs a round again; what was removed until then stays removed.
        StoreError: the store cannot be written, or somebody else does the same.
    """
    after = span.removed_through
    runs = await _Runs.look(store, after)
    while after < span.last_round:
        async with store.begin() as tx:
            through = min(await _step(tx.connection, after), span.last_round)
            for why, round_id in (await waiting(tx.connection, after + 1, through)).items():
                if round_id is not None:
                    raise ArchiveError(f"round {round_id} {why}; run the command again when it is")
            if await folded_behind(tx.connection, through):
                raise ArchiveError(f"round {through + 1} is stored beside round {through}, which goes without it")
            await tx.histories.archive(after + 1, through)
            await _delete(tx.connection, after + 1, through, runs)
            await tx.archives.advance(span.first_round, after, through)
        for _ in range(after, through):
            advance()
        after = through


async def _step(connection: AsyncConnection, after: int) -> int:
    """Return the last round of the next transaction: folded rounds of a block refer to each other and go together."""
    end = (after + 1) // BLOCK * BLOCK + BLOCK - 1
    return end if await folded_in(connection, after + 1, end) else after + _ROUNDS


class _Runs:
    """The newest round that names each run: one that is named twice goes with the last.

    Args:
        newest: by digest, of rounds that had ended.
        since: the rounds from here on had not, or were not there.
    """

    def __init__(self, newest: Mapping[str, int], since: int) -> None:
        self._newest = newest
        self._since = since

    @classmethod
    async def look(cls, store: Store, after: int) -> "_Runs":
        """Read what the ended rounds after `after` name."""
        async with store.read() as tx:
            still_open = select(func.min(rounds.c.round_id)).where(rounds.c.state == "open")
            since = await tx.connection.scalar(still_open)
            since = await tx.rounds.next_id() if since is None else int(since)
            return cls(await runs_by_round(tx.connection, after + 1, since - 1), since)

    async def over(self, connection: AsyncConnection, first: int, through: int) -> list[str]:
        """Return the runs that these rounds name, and no later one."""
        mine = await runs_of(connection, first, through)
        if not mine:
            return []
        newer = await runs_of(connection, self._since, None)
        return sorted(run for run in mine - newer if self._newest.get(run, through) <= through)


async def _delete(connection: AsyncConnection, first: int, through: int, runs: _Runs) -> None:
    d, r = dispatches.c, rounds.c
    named = select(d.signed_sha256).where(d.round_id.between(first, through), d.signed_sha256.is_not(None))
    signed = sorted(set(await connection.scalars(named)))
    over = await runs.over(connection, first, through)
    newest = select(func.max(reputation_events.c.sequence)).scalar_subquery()
    for table in reversed(LEAVING):
        if table is not dispatches:
            # The newest event stays, after whose number the next one's comes.
            last = [table.c.sequence < newest] if table is reputation_events else []
            await connection.execute(delete(table).where(table.c.round_id.between(first, through), *last))
    await connection.execute(delete(folded_rounds).where(folded_rounds.c.round_id.between(first, through)))
    await connection.execute(delete(dispatches).where(d.round_id.between(first, through)))
    unnamed = ~select(d.round_id).where(d.signed_sha256 == sssas.c.sha256).exists()
    await connection.execute(delete(sssas).where(sssas.c.sha256.in_(signed), unnamed))
    await connection.execute(delete(workflow_runs).where(workflow_runs.c.sha256.in_(over)))
    await connection.execute(update(rounds).where(r.round_id.between(first, through)).values(input=None, outcome=None))
