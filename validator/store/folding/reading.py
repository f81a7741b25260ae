"""A table's rows of all rounds, those of folded ones as they were before."""

from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

from sqlalchemy import ColumnClause, Row, Select, Table, column, select
from sqlalchemy.ext.asyncio import AsyncConnection

from validator.store.folding.memory import FoldedRounds
from validator.store.folding.record import EMPTIED, LEAVING
from validator.store.tables import folded_rounds

_CHANGED: Final = frozenset({*LEAVING, *EMPTIED})


async def whole_rows(
    connection: AsyncConnection, table: Table, statement: Select[Any], most: int
) -> AsyncIterator[Sequence[Row[Any]]]:
    """Yield what a statement selects of one table, at most `most` rows at a time; folded rounds come last.

    Args:
        connection: a read transaction.
        table: that the statement is about; it selects from nothing else.
        statement: rows of it.
        most: rows at a time.

    Raises:
        DamagedError: a folded round cannot be read.
    """
    folded = select(folded_rounds.c.round_id)
    if table not in _CHANGED:
        async for rows in (await connection.stream(statement)).partitions(most):
            yield rows
        return
    of_round: ColumnClause[int] = column("round_id")
    async for rows in (await connection.stream(statement.where(of_round.not_in(folded)))).partitions(most):
        yield rows
    rounds = FoldedRounds()
    try:
        for round_id in tuple(await connection.scalars(folded.order_by(folded_rounds.c.round_id))):
            memory = await rounds.of_round(round_id, connection)
            if found := (await memory.execute(statement.where(of_round == round_id))).all():
                yield found
    finally:
        await rounds.close()
