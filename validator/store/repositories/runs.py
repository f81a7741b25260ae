"""Runs of workflow plans, by the hash of their canonical bytes; kept for good."""

import msgspec
from sqlalchemy import select

from validator.protocol import typed
from validator.protocol.workflow_run import RunRecord
from validator.store.errors import DamagedError
from validator.store.repositories.base import Repository
from validator.store.tables import workflow_runs


class WorkflowRuns(Repository):
    """Content-addressed: the same run is stored once."""

    async def put(self, run: RunRecord) -> tuple[str, int]:
        """Keep a run; return the hex sha256 of its canonical bytes, and the bytes that it takes as it is stored."""
        data, sha256 = await self._packing.canonical(run)
        packed = await self._packing.pack(data)
        await self._insert_new(workflow_runs, {"sha256": sha256, "document": packed})
        return sha256, len(packed)

    async def load(self, sha256: str) -> RunRecord:
        """Return the run.

        Raises:
            DamagedError: missing, damaged, or of another version's form.
        """
        blob = await self._scalar(select(workflow_runs.c.document).where(workflow_runs.c.sha256 == sha256))
        if blob is None:
            raise DamagedError(f"no run {sha256}")
        try:
            return typed.decode(await self._packing.unpack(blob, sha256), RunRecord)
        except msgspec.MsgspecError:
            raise DamagedError(f"run {sha256} has another version's form") from None
