"""What an archived round will take, before there is a file: a few rounds packed in memory."""

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from validator.store.archive.form import packed_section
from validator.store.archive.rows import TABLES
from validator.store.archiving.writing import by_column, rows_of_round
from validator.store.growth import Files
from validator.store.packing import Packing
from validator.store.tables import answers, rounds
from validator.store.transaction import Transaction

_ROUNDS = 8


async def files_of(connection: AsyncConnection, *, raw: bool) -> Files:
    """Return what the archives of a store take, measured in its newest rounds where it has none.

    Args:
        connection: a read transaction.
        raw: whether rounds are archived before their raw answers are removed.
    """
    tx = Transaction(connection, Packing(threads=False))
    spans = await tx.archives.spans()
    if spans:
        size = sum(span.bytes for span in spans)
        many = spans[-1].last_round + 1
        return Files(many, size, size / many)
    settled = select(rounds.c.round_id).where(rounds.c.state == "settled", rounds.c.input.is_not(None))
    newest = list(await connection.scalars(settled.order_by(rounds.c.round_id.desc()).limit(_ROUNDS)))
    if not newest:
        return Files(0, 0, None)
    size = 0
    for table in TABLES if raw else (one for one in TABLES if one is not answers):
        rows = [row for round_id in newest for row in await rows_of_round(tx, table, round_id)]
        size += packed_section(by_column(table, rows))[1].bytes
    await tx.packing.folded.close()
    return Files(0, 0, size / len(newest))
