"""The proofs of a round made again, and held against the stored ones (SPEC 14)."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from validator.audit.replay.compare import Difference
from validator.audit.replay.plain import compared
from validator.kinds.registry import group_proof
from validator.proofs import ProofError, proof_document
from validator.proofs.document import require_signer
from validator.protocol.round import RoundInput, RoundOutcome, RoundPlan, RoundResults
from validator.protocol.strict_json import JsonError, decode_plain
from validator.store import Transaction
from validator.store.errors import DamagedError
from validator.store.rerun import QueuedRerun
from validator.store.signed import ProofRecord

Document = dict[str, Any]


def proofs_again(
    frozen: RoundInput,
    plan: RoundPlan,
    results: RoundResults,
    outcome: RoundOutcome,
    queued: Collection[QueuedRerun],
) -> Iterator[tuple[str, Document]]:
    """Yield the unsigned document of every proof with its task, in plan order; one by one: they may be large."""
    for group in outcome.groups:
        again = {one.key.hotkey for one in queued if one.key.task_id == group.task_id}
        proof = group_proof(frozen, plan, results, outcome, group.task_id, reruns_queued=again)
        if proof is not None:
            yield group.task_id, proof_document(proof)


async def proof_difference(tx: Transaction, task_id: str, again: Document, hotkey: str) -> Difference | None:
    """Return where the stored proof of a task is another one, None where it is the same and signed by `hotkey`."""
    path = f"proofs[{task_id}]"
    try:
        record = await tx.proofs.of_task(task_id)
    except DamagedError as error:
        return Difference(path, str(error))
    if record is None:
        return Difference(path, "missing in the store")
    try:
        stored = decode_plain(record.document, limit=len(record.document))
        unsigned = {**stored, "signature": None}
    except (JsonError, TypeError) as error:
        return Difference(path, f"cannot be read: {error}")
    return compared(path, unsigned, again) or _unsealed(path, record, stored, hotkey)


async def proofs_of_nothing(tx: Transaction, round_id: int, proven: Mapping[str, str]) -> Iterator[Difference]:
    """Return a difference for every stored proof of the round whose task has none."""
    return (
        Difference(f"proofs[{task_id}]", "is stored, but the task has no proof")
        for task_id in await tx.proofs.tasks_of(round_id)
        if task_id not in proven
    )


def _unsealed(path: str, record: ProofRecord, stored: Document, hotkey: str) -> Difference | None:
    """Return what is wrong with the columns beside the document, or with its signature."""
    columns = {"checksum": record.checksum, "digest": record.digest}
    difference = compared(path, columns, {name: stored[name] for name in columns})
    if difference is not None:
        return difference
    try:
        require_signer(stored, hotkey)
    except ProofError as error:
        return Difference(path, str(error))
    return None
