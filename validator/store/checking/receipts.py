"""The log of receipts held together, and against the rounds and vectors that it names."""

import msgspec
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from validator.protocol import typed
from validator.protocol.canonical import sha256_hex
from validator.protocol.receipt import stored_outcome_line, wrapped
from validator.store.checking.check import Check, partitions
from validator.store.codec import expanded
from validator.store.errors import ArchivedError, ArchiveError, DamagedError
from validator.store.packing import Packing
from validator.store.tables import receipts, weight_links
from validator.store.transaction import Transaction


class _Note(msgspec.Struct):
    task_id: str
    sha256: str


class _Task(msgspec.Struct):
    task_id: str
    truth_random: str | None = None


class _Input(msgspec.Struct):
    tasks: tuple[_Task, ...]


class _Lines(msgspec.Struct):
    outcome: str | None
    proofs: tuple[_Note, ...]


class _End(msgspec.Struct):
    lines: _Lines


class _Vector(msgspec.Struct):
    sha256: str


class _Link(msgspec.Struct):
    """What of a receipt ties it to the one before, and to its round or its vector."""

    sequence: int
    previous: str | None
    round: _End | None
    weights: _Vector | None = None


async def look_at_receipts(connection: AsyncConnection, check: Check) -> None:
    """Hold the log together: no gap, each names the one before, and outcomes, proofs and vectors are those it names."""
    found = receipts.outerjoin(weight_links, weight_links.c.sequence == receipts.c.sequence)
    vector = weight_links.c.sha256.label("vector")
    statement = select(receipts.c.sequence, receipts.c.round_id, receipts.c.line, receipts.c.sha256, vector)
    statement = statement.select_from(found)
    before: str | None = None
    tx = Transaction(connection, Packing(threads=False))
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
                if link.round is not None and not await _held(tx, row.round_id, link.round):
                    check.fault(f"{name} names another outcome or other proofs than round {row.round_id} has")
                if link.weights is not None and row.vector != link.weights.sha256:
                    check.fault(f"{name} names another vector than is stored for it")
            before = row.sha256
            check.looked += 1
    await tx.packing.folded.close()


async def _held(tx: Transaction, round_id: int, end: _End) -> bool:
    """Whether a round has the lines that its receipt names, as far as they can be read from here."""
    try:
        return await _lines(tx, round_id) == end.lines
    except (ArchivedError, ArchiveError):
        return True  # what is wrong with a file is told of the archives


async def _lines(tx: Transaction, round_id: int) -> _Lines | None:
    """Return the lines that a round has now; None where they cannot be read."""
    try:
        outcome = await _outcome(tx, round_id)
        task_ids = [task.task_id for task in await tx.tasks.of_round(round_id)]
        packed = await tx.proofs.packed(round_id, *task_ids)
        notes = [
            _Note(task_id, sha256_hex(wrapped("proof", (await tx.proofs.unpacked(packed[task_id])).document)))
            for task_id in task_ids
            if task_id in packed
        ]
    except (DamagedError, msgspec.MsgspecError, KeyError, TypeError):
        return None
    return _Lines(None if outcome is None else sha256_hex(outcome), tuple(notes))


async def _outcome(tx: Transaction, round_id: int) -> bytes | None:
    """Return an outcome's line as the log has it: without the verdicts of truths that the input commits to."""
    data = await tx.rounds.document_bytes(round_id, "outcome")
    if data is None:
        return None
    frozen = typed.decode(await tx.rounds.document_bytes(round_id, "input") or b"", _Input)
    return stored_outcome_line(data, {task.task_id for task in frozen.tasks if task.truth_random is not None})
