"""Export of the log from a store, `validator audit export`: line by line, a round's documents never all in memory."""

from collections.abc import AsyncIterator

from msgspec import UNSET

from sssa.protocol.receipt import WeightsLink, line_digest
from validator.store import Transaction
from validator.store.errors import DamagedError
from validator.store.log import round_lines
from validator.store.repositories.receipts import receipt_of


async def first_sequence(tx: Transaction, since: int | None) -> int | None:
    """Return the number of the first receipt to export, of this round or of the log; None when there is none."""
    if since is None:
        return 0 if await tx.receipts.count() else None
    receipt = await tx.receipts.of_round(since)
    return None if receipt is None else receipt.sequence


async def audit_lines(tx: Transaction, sequence: int, *, public: bool = False) -> AsyncIterator[bytes]:
    """Yield the lines of one receipt without newlines: the receipt, then the documents of its digests in order.

    `public`: for everybody, with the truths of retired tasks alone, and with curated records once all tasks that
    they may be of are retired; else with all of them.

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
    shown = await tx.retired.of_round(end.index) if public else ()
    hidden = public and await tx.retired.hides_curated(end.index)
    async for line in round_lines(tx, end):
        if line.kind == "curated" and hidden:
            continue
        if line.kind != "truth" or not public or line.task_id in shown:
            yield line.data


async def _weights(tx: Transaction, sequence: int, link: WeightsLink) -> bytes:
    data = await tx.weight_links.line(sequence)
    if data is None or line_digest(data) != link.sha256:
        raise DamagedError(f"receipt {sequence}: the stored vector is not what its receipt was written for")
    return data
