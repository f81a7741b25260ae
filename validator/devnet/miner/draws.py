"""Decisions that look random and always come out the same."""

import hashlib


def draw(*parts: str) -> float:
    """Return a number in [0, 1) that follows from the parts."""
    return int.from_bytes(digest(*parts)[:6], "big") / 2**48


def digest(*parts: str) -> bytes:
    """Return the sha256 of the parts, kept apart by a separator that none of them holds."""
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "replace")).digest()
