"""The proofs of a round made again, and held against the stored ones (SPEC 14)."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from sqlalchemy import Row

from validator.audit.replay.compare import Difference
from validator.audit.replay.plain import compared
from validator.kinds.registry import group_proof
from validator.proofs import ProofError, proof_document
from validator.proofs.consensus import PROOF_VERSION, PROOF_VERSIONS
from validator.proofs.document import require_signer
from validator.protocol.round import RoundInput, RoundOutcome, RoundPlan, RoundResults
from validator.protocol.strict_json import JsonError, decode_plain
from validator.store import Transaction
from validator.store.errors import DamagedError
from validator.store.rerun import QueuedRerun
from validator.store.signed import ProofRecord

Document = dict[str, Any]
Settled = tuple[RoundInput, RoundPlan, RoundResults, RoundOutcome]


class StoredProof(NamedTuple):
    """A task's proof in the store; `document` is None where there is none that can be read, and `fault` says why."""

    record: ProofRecord | None
    document: Document | None
    fault: Difference | None

    @property
    def version(self) -> str:
        """The form that it has; without one, that in which proofs are made now."""
        version = self.document.get("proof_version") if self.document else None
        return version if version in PROOF_VERSIONS else PROOF_VERSION


async def stored_proof(tx: Transaction, task_id: str, packed: Row[Any] | None) -> StoredProof:
    """Return what the store keeps as a task's proof, from its row."""
    path = _path(task_id)
    if packed is None:
        return StoredProof(None, None, Difference(path, "missing in the store"))
    try:
        record = await tx.proofs.unpacked(packed)
    except DamagedError as error:
        return StoredProof(None, None, Difference(path, str(error)))
    try:
        document: Any = decode_plain(record.document, limit=len(record.document))
    except JsonError as error:
        return StoredProof(record, None, Difference(path, f"cannot be read: {error}"))
    if not isinstance(document, dict):
        return StoredProof(record, None, Difference(path, "cannot be read: it is no object"))
    return StoredProof(record, document, None)


def proof_again(settled: Settled, task_id: str, queued: Collection[QueuedRerun], proof_version: str) -> Document:
    """Return the unsigned document of a task's proof, made again in a form; an empty one for a task without a group.

    Args:
        settled: the round.
        task_id: of one of its groups.
        queued: the round's reruns.
        proof_version: the form.
    """
    again = {one.key.hotkey for one in queued if one.key.task_id == task_id}
    proof = group_proof(*settled, task_id, reruns_queued=again, proof_version=proof_version)
    return {} if proof is None else proof_document(proof)


def proof_difference(task_id: str, stored: StoredProof, again: Document, hotkey: str) -> Difference | None:
    """Return where the stored proof of a task is another one, None where it is the same and signed by `hotkey`."""
    path = _path(task_id)
    if stored.record is None or stored.document is None:
        return stored.fault
    unsigned = {**stored.document, "signature": None}
    return compared(path, unsigned, again) or _unsealed(path, stored.record, stored.document, hotkey)


async def proofs_of_nothing(tx: Transaction, round_id: int, proven: Mapping[str, str]) -> Iterator[Difference]:
    """Return a difference for every stored proof of the round whose task has none."""
    return (
        Difference(_path(task_id), "is stored, but the task has no proof")
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


def _path(task_id: str) -> str:
    return f"proofs[{task_id}]"
