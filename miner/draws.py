"""Decisions that look random and always come out the same."""

import hashlib
from collections.abc import Mapping

from validator.protocol.bundles import count_lines
from validator.protocol.evidence import EvidenceRefError, parse_evidence_ref


def draw(*parts: str) -> float:
    """Return a number in [0, 1) that follows from the parts."""
    return int.from_bytes(digest(*parts)[:6], "big") / 2**48


def digest(*parts: str) -> bytes:
    """Return the sha256 of the parts, kept apart by a separator that none of them holds."""
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "replace")).digest()


def pick(count: int, *parts: str) -> int:
    """Return a number from 0 to `count` - 1 that follows from the parts."""
    return int(draw(*parts) * count)


def invented_places(files: Mapping[str, bytes], count: int, *parts: str) -> list[str]:
    """Return up to `count` evidence references to lines of different files that say nothing in particular."""
    ranked = sorted((path for path in files if files[path] and _nameable(path)), key=lambda path: digest(*parts, path))
    places = []
    for path in ranked[:count]:
        line = 1 + pick(count_lines(files[path]), *parts, "line", path)
        places.append(f"{path}#L{line}-L{line}")
    return places


def _nameable(path: str) -> bool:
    try:
        return "#" not in path and parse_evidence_ref(path).path == path
    except EvidenceRefError:
        return False
