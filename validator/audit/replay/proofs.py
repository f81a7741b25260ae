"""The proofs of a round made again, and held against the stored ones (SPEC 14)."""

from typing import Any, NamedTuple

from validator.audit.replay.differences import Difference, compared
from validator.proofs import ProofError
from validator.proofs.document import Unsealed, is_sealed, require_signer
from validator.protocol.strict_json import JsonError, decode_plain
from validator.store.errors import DamagedError
from validator.store.record import Group
from validator.store.repositories.records import proof_record
from validator.store.rows import ProofRecord

Document = dict[str, Any]


class StoredProof(NamedTuple):
    """A task's proof in the store; `record` is None where there is none that can be read, and `fault` says why."""

    record: ProofRecord | None
    fault: Difference | None


def stored_proof(round_id: int, group: Group) -> StoredProof:
    """Return what the round's record has as a task's proof."""
    path = _path(group.task_id)
    try:
        document = group.proof
        if document is None:
            return StoredProof(None, Difference(path, "missing in the store"))
        return StoredProof(proof_record(round_id, group.task_id, document), None)
    except DamagedError as error:
        return StoredProof(None, Difference(path, str(error)))


def proof_difference(task_id: str, stored: StoredProof, again: Unsealed, hotkey: str) -> Difference | None:
    """Return where the stored proof of a task is another one, None where it is the same and signed by `hotkey`."""
    record = stored.record
    if record is None:
        return stored.fault
    if (record.checksum, record.digest) == (again.checksum, again.digest) and is_sealed(record.document, again, hotkey):
        return None
    return _difference(_path(task_id), record, again, hotkey)


def _difference(path: str, record: ProofRecord, again: Unsealed, hotkey: str) -> Difference | None:
    """Return what is wrong with a stored proof whose bytes or columns are others."""
    try:
        document: Any = decode_plain(record.document, limit=len(record.document))
    except JsonError as error:
        return Difference(path, f"cannot be read: {error}")
    if not isinstance(document, dict):
        return Difference(path, "cannot be read: it is no object")
    unsigned = {**document, "signature": None}
    return compared(path, unsigned, again.document) or _unsealed(path, record, document, hotkey)


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
