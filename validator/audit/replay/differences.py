"""The first place where two values differ, by path: the line that a failed replay prints. Pure."""

from typing import Any, Final, NamedTuple

import msgspec

from validator.proofs.proof_rules import first_difference, shown
from validator.protocol.canonical import canonical_bytes
from validator.protocol.text import printable


class Difference(NamedTuple):
    """A place where store and computation differ, like `outcome.members[3].consensus`, and what is wrong there."""

    path: str
    what: str

    def __str__(self) -> str:
        return f"{self.path}: {self.what}"


def uncomputed(part: str, error: Exception) -> Difference:
    """Return the difference of what the stored values make no sense to."""
    return Difference(part, f"cannot be recomputed: {type(error).__name__} {printable(str(error))}")


def _said(stored: Any, recomputed: Any) -> str:
    if stored is ...:
        return f"missing in the store, recomputed {shown(recomputed)}"
    if recomputed is ...:
        return f"stored {shown(stored)}, does not follow from the input"
    return f"stored {shown(stored)}, recomputed {shown(recomputed)}"


_WRITTEN: Final = msgspec.json.Encoder(order="deterministic")


def compared(path: str, stored: Any, recomputed: Any) -> Difference | None:
    """Return the first difference of two values, None if their canonical bytes are the same."""
    if _alike(stored, recomputed):
        return None
    return compared_bytes(path, canonical_bytes(stored), canonical_bytes(recomputed))


def _alike(stored: Any, recomputed: Any) -> bool:
    """Return whether two values have the same canonical bytes before any sorting."""
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
    found = first_difference(msgspec.json.decode(recomputed), before, path)  # in the order of what was computed
    if found is None:
        return Difference(path, "the same values, but the stored bytes are not their canonical form")
    return Difference(found.place, _said(found.follows, found.stands))
