"""Bundles as dispatched, kept as long as the settings say."""

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Row, Select, select, update

from validator.protocol.canonical import sha256_hex
from validator.store.beside import beside, whole
from validator.store.errors import DamagedError, MismatchError
from validator.store.repositories.base import Repository
from validator.store.tables import bundles

_STORED: Final[Select[Any]] = select(bundles.c.sha256, bundles.c.data, bundles.c.base_sha256)
_PARTITION: Final = 8  # rows read at a time


class Bundles(Repository):
    """Content-addressed gzip tars. Of those of one source the first is stored whole, the others beside it."""

    async def put(self, sha256: str, data: bytes, at: datetime, source_sha256: str | None = None) -> None:
        """Keep a bundle; one that is there already starts its retention anew.

        Args:
            sha256: lower-case hex, of the bytes.
            data: the bundle as dispatched.
            at: now.
            source_sha256: of what it was before a marker; None where nothing will be like it.

        Raises:
            MismatchError: the bytes do not hash to `sha256`.
        """
        if await self._packing.digest(data) != sha256:
            raise MismatchError("a bundle does not hash to its `sha256`")
        again = update(bundles).where(bundles.c.sha256 == sha256).values(stored_at=at)
        if await self._changed(again):
            return
        row = {"sha256": sha256, "data": data, "stored_at": at, "source_sha256": source_sha256}
        base = await self._base(source_sha256)
        own = None if base is None else await self._packing.aside(beside, data, base.data)
        if base is not None and own is not None:
            row |= {"data": own, "source_sha256": None, "base_sha256": base.sha256}
        await self._insert(bundles, [row])

    async def _base(self, source_sha256: str | None) -> Row[Any] | None:
        """Return the newest of a source that is stored whole."""
        if source_sha256 is None:
            return None
        newest = bundles.c.stored_at.desc(), bundles.c.sha256
        return await self._first(_STORED.where(bundles.c.source_sha256 == source_sha256).order_by(*newest).limit(1))

    async def get(self, sha256: str) -> bytes | None:
        """Return a bundle; None when it was never stored or its retention has ended.

        Raises:
            DamagedError: it is not what was stored, or what it is stored beside is not.
        """
        row = await self._first(_STORED.where(bundles.c.sha256 == sha256))
        if row is None or row.base_sha256 is None:
            return None if row is None else bytes(row.data)
        return await self._packing.aside(_whole, row, await self._stored(row.base_sha256))

    async def beside_others(self) -> AsyncIterator[tuple[str, bool]]:
        """Yield the digest of each bundle that is stored beside another, and whether it still is what was stored."""
        name, base = "", None
        those = _STORED.where(bundles.c.base_sha256.is_not(None)).order_by(bundles.c.base_sha256, bundles.c.sha256)
        result = await self._connection.stream(those)
        async for rows in result.partitions(_PARTITION):
            for row in rows:
                if row.base_sha256 != name:
                    name, base = row.base_sha256, await self._stored(row.base_sha256)
                yield row.sha256, await self._packing.aside(_sound, row, base)

    async def _stored(self, sha256: str) -> bytes | None:
        data: bytes | None = await self._scalar(select(bundles.c.data).where(bundles.c.sha256 == sha256))
        return data


def _whole(row: Row[Any], base: bytes | None) -> bytes:
    """Return a bundle that is stored beside another."""
    if base is None:
        raise DamagedError(f"bundle {row.sha256} is stored beside {row.base_sha256}, which is gone")
    data = whole(row.data, base)
    if sha256_hex(data) != row.sha256:
        raise DamagedError(f"bundle {row.sha256} does not hash to its name")
    return data


def _sound(row: Row[Any], base: bytes | None) -> bool:
    try:
        _whole(row, base)
    except DamagedError:
        return False
    return True
