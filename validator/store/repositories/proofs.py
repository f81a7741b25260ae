"""The signed proofs of groups (SPEC 14); kept for good."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row, select

from validator.store.repositories.base import Repository
from validator.store.signed import ProofRecord
from validator.store.tables import proofs, tasks


class Proofs(Repository):
    """Proofs by (round_id, task_id)."""

    async def put_all(self, records: Sequence[ProofRecord]) -> None:
        """Keep a round's proofs."""
        rows = [
            {
                "round_id": record.round_id,
                "task_id": record.task_id,
                "checksum": record.checksum,
                "digest": record.digest,
                "document": await self._packing.pack(record.document),
            }
            for record in records
        ]
        await self._insert(proofs, rows)

    async def of_task(self, task_id: str) -> ProofRecord | None:
        """Return a task's proof.

        Raises:
            DamagedError: its bytes cannot be read.
        """
        row = await self._first(select(proofs).where(proofs.c.task_id == task_id))
        return None if row is None else await self._record(row)

    async def of_round(self, round_id: int) -> tuple[ProofRecord, ...]:
        """Return a round's proofs in plan order.

        Raises:
            DamagedError: the bytes of one cannot be read.
        """
        its_task = (tasks.c.round_id == proofs.c.round_id) & (tasks.c.task_id == proofs.c.task_id)
        statement = select(proofs).join(tasks, its_task).where(proofs.c.round_id == round_id)
        return tuple([await self._record(row) for row in await self._all(statement.order_by(tasks.c.position))])

    async def _record(self, row: Row[Any]) -> ProofRecord:
        document = await self._packing.unpack(row.document)
        return ProofRecord(row.round_id, row.task_id, row.checksum, row.digest, document)
