"""Bundles as dispatched, kept as long as the settings say."""

from datetime import datetime

from sqlalchemy import select, update

from validator.store.errors import MismatchError
from validator.store.repositories.base import Repository
from validator.store.tables import bundles


class Bundles(Repository):
    """Content-addressed gzip tars."""

    async def put(self, sha256: str, data: bytes, at: datetime) -> None:
        """Keep a bundle; one that is there already starts its retention anew.

        Args:
            sha256: lower-case hex, of the bytes.
            data: the bundle as dispatched.
            at: now.

        Raises:
            MismatchError: the bytes do not hash to `sha256`.
        """
        if await self._packing.digest(data) != sha256:
            raise MismatchError("a bundle does not hash to its `sha256`")
        if not await self._changed(update(bundles).where(bundles.c.sha256 == sha256).values(stored_at=at)):
            await self._insert(bundles, [{"sha256": sha256, "data": data, "stored_at": at}])

    async def get(self, sha256: str) -> bytes | None:
        """Return a bundle; None when it was never stored or its retention has ended."""
        data: bytes | None = await self._scalar(select(bundles.c.data).where(bundles.c.sha256 == sha256))
        return data
