"""Documents as stored bytes: canonical, compressed, checked; the heavy ones away from the event loop."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, ParamSpec, TypeVar

from validator.protocol.canonical import NotCanonicalError, canonical_bytes, sha256_hex
from validator.store.codec import compressed, expanded, expanded_size
from validator.store.errors import DamagedError, UnstorableError
from validator.store.record import Head

P = ParamSpec("P")
T = TypeVar("T")
INLINE_LIMIT: Final = 64 * 1024  # bytes; below this a thread costs more than it saves


@dataclass(slots=True)
class Recent:
    """The record that a transaction read last: what `explain` and `replay` ask for has many parts.

    Attributes:
        round_id: whose; None before the first.
        frames: its first ones; empty where they are many bytes.
        head: once it was read.
    """

    round_id: int | None = None
    frames: list[bytes] = field(default_factory=list)
    head: Head | None = None

    def read(self, round_id: int, frames: list[bytes]) -> None:
        """Remember another one."""
        if self.round_id != round_id:
            self.head = None
        self.round_id, self.frames = round_id, frames


class Packing:
    """Compresses, expands and canonicalises.

    Attributes:
        recent: the record that was read last; a transaction has a `Packing` of its own.
    """

    def __init__(self) -> None:
        self.recent = Recent()

    async def pack(self, data: bytes) -> bytes:
        """Return `data` compressed, see `codec`."""
        return await self._run(len(data) > INLINE_LIMIT, compressed, data)

    async def unpack(self, blob: bytes, sha256: str | None = None) -> bytes:
        """Return what was packed.

        Args:
            blob: from `pack`.
            sha256: hex digest that the data must have; None to trust the codec's own checksum.

        Raises:
            DamagedError: not what was packed.
        """
        return await self._run(expanded_size(blob) > INLINE_LIMIT, _unpack, blob, sha256)

    async def canonical(self, value: Any) -> tuple[bytes, str]:
        """Return the canonical bytes of a document and their sha256 (hex).

        Raises:
            UnstorableError: it has no RFC 8785 form.
        """
        # The size is not known beforehand, and canonicalising is slow: always away from the loop.
        return await self._run(True, _canonical, value)

    async def documents(self, written: Sequence[bytes]) -> list[tuple[str, bytes]]:
        """Return the sha256 (hex) of each document's canonical bytes, and those bytes compressed."""
        return await self._run(True, lambda: [(sha256_hex(data), compressed(data)) for data in written])

    async def digest(self, data: bytes) -> str:
        """Return the hex sha256 of `data`."""
        return await self._run(len(data) > INLINE_LIMIT, sha256_hex, data)

    async def aside(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what a heavy function does, away from the event loop."""
        return await self._run(True, function, *args, **kwargs)

    async def _run(self, heavy: bool, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        if heavy:
            return await asyncio.to_thread(function, *args, **kwargs)
        return function(*args, **kwargs)


def _unpack(blob: bytes, sha256: str | None) -> bytes:
    data = expanded(blob)
    if sha256 is not None and sha256_hex(data) != sha256:
        raise DamagedError(f"the bytes do not hash to {sha256}")
    return data


def _canonical(value: Any) -> tuple[bytes, str]:
    try:
        data = canonical_bytes(value)
    except NotCanonicalError as error:
        raise UnstorableError(error.detail) from None
    return data, sha256_hex(data)
