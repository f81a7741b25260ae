"""The signed proofs of groups (SPEC 14), from the records of settled rounds."""

import msgspec
from sqlalchemy import select

from validator.protocol import typed
from validator.store.errors import DamagedError
from validator.store.repositories.base import Repository
from validator.store.repositories.records import Records
from validator.store.signed import ProofRecord
from validator.store.tables import tasks


class _Sealed(msgspec.Struct):
    checksum: str
    digest: str


class Proofs(Repository):
    """Proofs by task."""

    async def of_task(self, task_id: str) -> ProofRecord | None:
        """Return a task's proof.

        Raises:
            DamagedError: it is no proof.
            ArchivedError, ArchiveError: as `Records`.
        """
        round_id = await self._scalar(select(tasks.c.round_id).where(tasks.c.task_id == task_id))
        if round_id is None:
            return None
        async for group in Records(self._connection, self._packing).groups(round_id):
            if group.task_id == task_id and group.proof is not None:
                return proof_record(round_id, task_id, group.proof)
        return None


def proof_record(round_id: int, task_id: str, document: bytes) -> ProofRecord:
    """Return a stored proof with what it says of itself.

    Raises:
        DamagedError: it is no proof.
    """
    try:
        sealed = typed.decode(document, _Sealed)
    except msgspec.MsgspecError:
        raise DamagedError(f"the proof of task {task_id} cannot be read") from None
    return ProofRecord(round_id, task_id, sealed.checksum, sealed.digest, document)
