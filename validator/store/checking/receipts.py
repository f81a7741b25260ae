"""The log of receipts held together, and against the rounds and vectors that it names."""

import msgspec
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from validator.protocol import typed
from validator.protocol.canonical import sha256_hex
from validator.protocol.receipt import RoundEnd
from validator.store.checking.check import Check, partitions
from validator.store.codec import expanded
from validator.store.errors import ArchivedError, ArchiveError, DamagedError
from validator.store.lines import round_lines
from validator.store.tables import receipts, weight_links
from validator.store.transaction import Transaction


class _Vector(msgspec.Struct):
    sha256: str


class _Link(msgspec.Struct):
    """What of a receipt ties it to the one before, and to its round or its vector."""

    sequence: int
    previous: str | None
    round: RoundEnd | None
    weights: _Vector | None = None


async def look_at_receipts(connection: AsyncConnection, check: Check) -> None:
    """Hold the log together: no gap, each names the one before, and rounds and vectors have the lines that it names."""
    found = receipts.outerjoin(weight_links, weight_links.c.sequence == receipts.c.sequence)
    vector = weight_links.c.sha256.label("vector")
    statement = select(receipts.c.sequence, receipts.c.round_id, receipts.c.line, receipts.c.sha256, vector)
    statement = statement.select_from(found)
    before: str | None = None
    tx = Transaction(connection)
    async for rows in partitions(connection, statement.order_by(receipts.c.sequence)):
        for row in rows:
            name = f"receipt {row.sequence}"
            try:
                line = expanded(row.line)
                link = typed.decode(line, dict[str, _Link])["receipt"]
            except (DamagedError, msgspec.MsgspecError, KeyError):
                check.fault(f"{name} cannot be read")
            else:
                if sha256_hex(line) != row.sha256:
                    check.fault(f"{name} is not what sha256 names")
                if (link.sequence, link.previous) != (row.sequence, before) or row.sequence != check.looked:
                    check.fault(f"{name} does not follow the one before")
                if link.round is not None and not await _held(tx, link.round):
                    check.fault(f"{name} names other lines than round {row.round_id} has")
                if link.weights is not None and row.vector != link.weights.sha256:
                    check.fault(f"{name} names another vector than is stored for it")
            before = row.sha256
            check.looked += 1


async def _held(tx: Transaction, end: RoundEnd) -> bool:
    """Whether a round has the lines that its receipt names, as far as they can be read from here."""
    try:
        async for _ in round_lines(tx, end):
            pass
    except (ArchivedError, ArchiveError):
        return True  # what is wrong with a file is told of the archives
    except DamagedError:
        return False
    return True
