"""Signed attestations and plans that passed the gates, by the hash of their canonical bytes; kept for good."""

from collections.abc import Sequence
from typing import TypeVar

import msgspec
from sqlalchemy import select

from validator.protocol import typed
from validator.protocol.sssa import Sssa
from validator.protocol.workflow_plan import WorkflowPlan
from validator.store.errors import DamagedError, MismatchError
from validator.store.repositories.base import Repository
from validator.store.tables import sssas

T = TypeVar("T", Sssa, WorkflowPlan)
Signed = tuple[Sssa | WorkflowPlan, str]


class Sssas(Repository):
    """Content-addressed: the same document is stored once."""

    async def put(self, signed: Sequence[Signed]) -> list[int]:
        """Keep attestations and plans, each with the hex sha256 of its canonical bytes with the signature's value.

        Returns:
            The bytes that each takes as it is stored.

        Raises:
            MismatchError: the bytes of one do not hash to that.
        """
        documents = await self._packing.documents([document for document, _ in signed])
        if any(actual != sha256 for (actual, _), (_, sha256) in zip(documents, signed, strict=True)):
            raise MismatchError("`sssa_sha256` or `plan_sha256` is not that of the document's canonical bytes")
        await self._insert_missing(sssas, [{"sha256": sha256, "document": packed} for sha256, packed in documents])
        return [len(packed) for _, packed in documents]

    async def get(self, sha256: str) -> bytes | None:
        """Return the canonical bytes.

        Raises:
            DamagedError: what is stored does not hash to `sha256`.
        """
        blob = await self._scalar(select(sssas.c.document).where(sssas.c.sha256 == sha256))
        return None if blob is None else await self._packing.unpack(blob, sha256)

    async def load(self, sha256: str, kind: type[T]) -> T:
        """Return the document as its struct, `Sssa` or `WorkflowPlan`.

        Raises:
            DamagedError: missing, damaged, or of another version's form.
        """
        return await self.read(
            sha256, await self._scalar(select(sssas.c.document).where(sssas.c.sha256 == sha256)), kind
        )

    async def read(self, sha256: str, blob: bytes | None, kind: type[T]) -> T:
        """Return a document of this table whose bytes were read already; None: there is none.

        Raises:
            DamagedError: as `load`.
        """
        if blob is None:
            raise DamagedError(f"no attestation or plan {sha256}")
        data = await self._packing.unpack(blob, sha256)
        try:
            return typed.decode(data, kind)
        except msgspec.MsgspecError:
            raise DamagedError(f"attestation or plan {sha256} has another version's form") from None
