"""The signed proofs of groups (SPEC 14); kept for good."""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Row, bindparam, select

from validator.store.codec import base_of, expanded_beside
from validator.store.repositories.base import ROUND, Repository
from validator.store.signed import PackedProof, ProofRecord, attestations_of
from validator.store.tables import dispatches, proofs, sssas, tasks

_ATTESTED: Final = (
    select(sssas)
    .join(dispatches, dispatches.c.signed_sha256 == sssas.c.sha256)
    .where(dispatches.c.round_id == ROUND, dispatches.c.task_id == bindparam("task_id"))
)
_OF_ROUND: Final = select(proofs).where(proofs.c.round_id == ROUND).order_by(proofs.c.task_id)


class Proofs(Repository):
    """Proofs by (round_id, task_id)."""

    async def put_all(self, packed: Sequence[PackedProof]) -> None:
        """Keep a round's proofs."""
        rows = [
            {
                "round_id": proof.round_id,
                "task_id": proof.note.task_id,
                "checksum": proof.note.checksum,
                "digest": proof.digest,
                "document": proof.packed,
            }
            for proof in packed
        ]
        await self._insert(proofs, rows)

    async def of_task(self, task_id: str) -> ProofRecord | None:
        """Return a task's proof.

        Raises:
            DamagedError: its bytes cannot be read.
        """
        round_id = await self._scalar(select(tasks.c.round_id).where(tasks.c.task_id == task_id))
        row = None if round_id is None else (await self.packed(round_id, task_id)).get(task_id)
        return None if row is None else await self.unpacked(row)

    async def packed(self, round_id: int, *task_ids: str) -> dict[str, Row[Any]]:
        """Return the rows of a round's tasks that have a proof, by task id, for `unpacked`: they may be large."""
        its = select(proofs).where(proofs.c.round_id == round_id, proofs.c.task_id.in_(task_ids))
        return {row.task_id: row for row in await self._rows_of(round_id, its)}

    async def packed_of_round(self, round_id: int) -> dict[str, Row[Any]]:
        """Return `packed` of all tasks of a round, and what is stored of tasks that it has not."""
        return {row.task_id: row for row in await self._rows_of(round_id, _OF_ROUND)}

    async def unpacked(self, row: Row[Any]) -> ProofRecord:
        """Return the proof of a row.

        Raises:
            DamagedError: its bytes cannot be read.
        """
        if base_of(row.document) is None:
            document = await self._packing.unpack(row.document)
        else:
            documents = await self._rows_of(row.round_id, _ATTESTED, task_id=row.task_id)
            signed = [await self._packing.unpack(one.document, one.sha256) for one in documents]
            attestations = attestations_of(row.round_id, signed).data
            document = await self._packing.aside(expanded_beside, row.document, attestations)
        return ProofRecord(row.round_id, row.task_id, row.checksum, row.digest, document)
