"""What the archive files of a store take: those that are there, or what the newest records say."""

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from validator.store.growth import Files
from validator.store.tables import records
from validator.store.transaction import Transaction

_ROUNDS = 8


async def files_of(connection: AsyncConnection) -> Files:
    """Return what the archives of a store take, measured in its newest records where it has none.

    Args:
        connection: a read transaction.
    """
    spans = await Transaction(connection).archives.spans()
    if spans:
        size = sum(span.bytes for span in spans)
        many = spans[-1].last_round + 1
        return Files(many, size, size / many)
    sizes = select(func.sum(func.length(records.c.frame))).group_by(records.c.round_id)
    newest = list(await connection.scalars(sizes.order_by(records.c.round_id.desc()).limit(_ROUNDS)))
    return Files(0, 0, sum(map(int, newest)) / len(newest) if newest else None)
