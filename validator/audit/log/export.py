"""The log's lines from a store, one receipt after the other: a round's documents are never all in memory."""

from collections.abc import AsyncIterator, Collection
from typing import Any

import msgspec
from msgspec import UNSET

from validator.audit.log.showing import EVERY, Truths
from validator.protocol.receipt import (
    LineKind,
    RoundEnd,
    WeightsLink,
    answers_line,
    input_lines,
    line,
    line_digest,
    plan_line,
    stored_outcome_line,
    wrapped,
)
from validator.protocol.round.forms import results_form
from validator.protocol.round.truths import commands_of, told_results
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


async def audit_lines(tx: Transaction, sequence: int, truths: Truths = EVERY) -> AsyncIterator[bytes]:
    """Yield the lines of one receipt, without newlines: the receipt, then what its digests name, in their order.

    Args:
        tx: to look in.
        sequence: the receipt's number.
        truths: which ones are shown, each behind the input that commits to it.

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
    async for data in _round_lines(tx, end, truths):
        yield data


async def _round_lines(tx: Transaction, end: RoundEnd, truths: Truths) -> AsyncIterator[bytes]:
    round_id, lines = end.index, end.lines
    told: list[dict[str, Any]] = []
    if lines.input is not None:
        data, told = await _input(tx, round_id)
        yield _held(end, "input", lines.input, data)
        shown = await truths.shown(tx, round_id)
        for document in told:
            if shown is None or document["task_id"] in shown:
                yield line("truth", document)
    if lines.plan is not None:
        yield _held(end, "plan", lines.plan, plan_line(await tx.groups.plan_of(round_id)))
    if lines.answers is not None:
        results = await tx.submissions.results(round_id)
        yield _held(end, "answers", lines.answers, answers_line(told_results(results, commands_of(told))))
        for submission in results_form(results).submissions:
            yield line("sssa", submission.sssa)
    if lines.outcome is not None:
        yield _held(end, "outcome", lines.outcome, await _outcome(tx, round_id, {one["task_id"] for one in told}))
    packed = await tx.proofs.packed(round_id, *(note.task_id for note in lines.proofs))
    for note in lines.proofs:
        row = packed.get(note.task_id)
        proof = b"" if row is None else wrapped("proof", (await tx.proofs.unpacked(row)).document)
        yield _held(end, "proof", note.sha256, proof)


async def _input(tx: Transaction, round_id: int) -> tuple[bytes, list[dict[str, Any]]]:
    """Return the line of the stored bytes, not of this version's struct: lines never change once they are written.

    With it come the documents of the truths that it commits to.
    """
    data = await tx.rounds.document_bytes(round_id, "input")
    try:
        plain = msgspec.json.decode(data or b"")
        return input_lines(plain)
    except (msgspec.MsgspecError, KeyError, TypeError):
        raise DamagedError(f"round {round_id}: the stored input cannot be read") from None


async def _outcome(tx: Transaction, round_id: int, committed: Collection[str]) -> bytes:
    data = await tx.rounds.document_bytes(round_id, "outcome")
    try:
        return b"" if data is None else stored_outcome_line(data, committed)
    except (msgspec.MsgspecError, KeyError, TypeError):
        raise DamagedError(f"round {round_id}: the stored outcome cannot be read") from None


async def _weights(tx: Transaction, sequence: int, link: WeightsLink) -> bytes:
    data = await tx.weight_links.line(sequence)
    if data is None or line_digest(data) != link.sha256:
        raise DamagedError(f"receipt {sequence}: the stored vector is not what its receipt was written for")
    return data


def _held(end: RoundEnd, kind: LineKind, digest: str, data: bytes) -> bytes:
    if line_digest(data) != digest:
        raise DamagedError(f"round {end.round_id}: the stored {kind} is not what its receipt was written for")
    return data
