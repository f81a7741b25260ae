"""The log's lines from a store, one receipt after the other: a round's documents are never all in memory."""

from collections.abc import AsyncIterator

import msgspec
from msgspec import UNSET

from validator.protocol.receipt import (
    LineKind,
    RoundEnd,
    WeightsLink,
    answers_line,
    line,
    line_digest,
    plan_line,
    wrapped,
)
from validator.protocol.round.forms import results_form
from validator.store import Transaction
from validator.store.errors import DamagedError
from validator.store.repositories.receipts import receipt_of


async def first_sequence(tx: Transaction, since: int | None) -> int | None:
    """Return the number of the first receipt to export, None when there is no such receipt.

    Args:
        tx: to look in.
        since: round whose receipt is the first; None for the whole log.
    """
    if since is None:
        return 0 if await tx.receipts.count() else None
    found = await tx.receipts.of_round(since)
    return None if found is None else found.sequence


async def audit_lines(tx: Transaction, sequence: int) -> AsyncIterator[bytes]:
    """Yield the lines of one receipt, without newlines: the receipt, then what its digests name, in their order.

    Raises:
        DamagedError: there is no such receipt, or what is stored is not what it was written for.
    """
    record = await tx.receipts.get(sequence)
    if record is None:
        raise DamagedError(f"no receipt {sequence}")
    yield record.line
    receipt = receipt_of(record)
    if receipt.weights is not UNSET:
        yield await _weights(tx, sequence, receipt.weights)
    end = receipt.round
    if end is None:
        return
    async for data in _round_lines(tx, end):
        yield data


async def _round_lines(tx: Transaction, end: RoundEnd) -> AsyncIterator[bytes]:
    round_id, lines = end.index, end.lines
    if lines.input is not None:
        yield _held(end, "input", lines.input, await _input(tx, round_id))
    if lines.plan is not None:
        yield _held(end, "plan", lines.plan, plan_line(await tx.groups.plan_of(round_id)))
    if lines.answers is not None:
        results = await tx.submissions.results(round_id)
        yield _held(end, "answers", lines.answers, answers_line(results))
        for submission in results_form(results).submissions:
            yield line("sssa", submission.sssa)
    if lines.outcome is not None:
        outcome = await tx.rounds.document_bytes(round_id, "outcome")
        yield _held(end, "outcome", lines.outcome, b"" if outcome is None else wrapped("outcome", outcome))
    for note in lines.proofs:
        proof = await tx.proofs.of_task(note.task_id)
        yield _held(end, "proof", note.sha256, b"" if proof is None else wrapped("proof", proof.document))


async def _input(tx: Transaction, round_id: int) -> bytes:
    """Return the line of the stored bytes, not of this version's struct: lines never change once they are written."""
    data = await tx.rounds.document_bytes(round_id, "input")
    try:
        plain = msgspec.json.decode(data or b"")
        del plain["seed"]
    except (msgspec.MsgspecError, KeyError, TypeError):
        raise DamagedError(f"round {round_id}: the stored input cannot be read") from None
    return line("input", plain)


async def _weights(tx: Transaction, sequence: int, link: WeightsLink) -> bytes:
    data = await tx.weight_links.line(sequence)
    if data is None or line_digest(data) != link.sha256:
        raise DamagedError(f"receipt {sequence}: the stored vector is not what its receipt was written for")
    return data


def _held(end: RoundEnd, kind: LineKind, digest: str, data: bytes) -> bytes:
    if line_digest(data) != digest:
        raise DamagedError(f"round {end.round_id}: the stored {kind} is not what its receipt was written for")
    return data
