"""Comparing values by their canonical bytes."""

from typing import Any, Final

import msgspec

from validator.audit.replay.compare import Difference, first_difference
from validator.protocol.canonical import canonical_bytes

_WRITTEN: Final = msgspec.json.Encoder(order="deterministic")


def compared(path: str, stored: Any, recomputed: Any) -> Difference | None:
    """Return the first difference of two values, None if their canonical bytes are the same."""
    if _alike(stored, recomputed):
        return None
    return compared_bytes(path, canonical_bytes(stored), canonical_bytes(recomputed))


def _alike(stored: Any, recomputed: Any) -> bool:
    """Whether two values are written alike before anything is put in order: so are their canonical bytes."""
    try:
        return _WRITTEN.encode(stored) == _WRITTEN.encode(recomputed)
    except (TypeError, ValueError):
        return False


def compared_bytes(path: str, stored: bytes, recomputed: bytes) -> Difference | None:
    """Return the first difference of two JSON documents, None if they are the same byte for byte."""
    if stored == recomputed:
        return None
    try:
        before = msgspec.json.decode(stored)
    except msgspec.MsgspecError as error:
        return Difference(path, f"the stored bytes are no JSON: {error}")
    found = first_difference(path, before, msgspec.json.decode(recomputed))
    return found or Difference(path, "the same values, but the stored bytes are not their canonical form")
