"""A bundle as what it has of its own beside another of the same source, exact to the byte.

Packing it again instead would give other bytes under another zlib. Zstandard, with the other bundle as its dictionary,
finds what they share only with tables of the bundle's own size, and takes forty times as long.

| bytes | what |
|---|---|
| 4 | how many of the base's first bytes come first |
| 4 | how many of the base's bytes before its gzip trailer come last |
| 8 | the gzip trailer: checksum and length (RFC 1952) |
| the rest | what stands in between |
"""

from bisect import bisect_left
from typing import Final

from validator.store.errors import DamagedError

_LENGTH: Final = 4
_TRAILER: Final = 8
_HEAD: Final = 2 * _LENGTH + _TRAILER


def beside(data: bytes, base: bytes) -> bytes | None:
    """Return `data` as what differs from `base`; None where that is not less than half of it."""
    if min(len(data), len(base)) < _TRAILER:
        return None
    ours, theirs = data[:-_TRAILER], base[:-_TRAILER]
    first = _shared(ours, theirs)
    last = _shared(ours[first:][::-1], theirs[first:][::-1])
    own = ours[first : len(ours) - last]
    found = first.to_bytes(_LENGTH) + last.to_bytes(_LENGTH) + data[-_TRAILER:] + own
    return found if 2 * len(found) < len(data) else None


def whole(stored: bytes, base: bytes) -> bytes:
    """Return what `beside` was given with the same `base`. Whether it is, the bundle's digest tells.

    Raises:
        DamagedError: it needs more bytes than the base has.
    """
    first, last = int.from_bytes(stored[:_LENGTH]), int.from_bytes(stored[_LENGTH : 2 * _LENGTH])
    end = len(base) - _TRAILER
    if len(stored) < _HEAD or first + last > end:
        raise DamagedError("a bundle is not what differs from its base")
    return base[:first] + stored[_HEAD:] + base[end - last : end] + stored[2 * _LENGTH : _HEAD]


def _shared(one: bytes, other: bytes) -> int:
    """Return with how many equal bytes both begin."""
    most = min(len(one), len(other))
    return bisect_left(range(1, most + 1), True, key=lambda size: one[:size] != other[:size])
