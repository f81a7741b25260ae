"""How much a JSON document holds and how deep it nests, read off its bytes before anything is built from them.

Exact for JSON; of what is no JSON some answer, at the same cost. No step costs more than in proportion to the bytes.
"""

from typing import Final

_STRUCTURE: Final = b'"[]{},'
_OTHERS: Final = bytes(set(range(256)) - set(_STRUCTURE))
_BRACKETS: Final = bytes.maketrans(b"{}", b"[]")
_CHUNK: Final = 64 * 1024


def has_more_values(data: bytes, most: int) -> bool:
    """Whether the document holds more than `most` values, keys not counted and empty lists and objects counted twice.

    Every value but the first stands behind a comma or behind the bracket that opens a list or an object.
    """
    return len(data) >= most and _could_hold(data) > most and count_values(data) > most


def count_values(data: bytes) -> int:
    """Return the number of values, keys not counted and empty lists and objects counted twice."""
    return _could_hold(_outside_strings(data))


def count_strings(data: bytes) -> int:
    """Return the number of strings, keys among them."""
    return _without_escapes(data).count(b'"') // 2


def nesting_exceeds(data: bytes, depth: int) -> bool:
    """Whether brackets outside strings ever open more than `depth` deep; the root is 1."""
    if data.count(b"[") + data.count(b"{") <= depth:
        return False
    rest = _outside_strings(data).translate(_BRACKETS, b",")
    for _ in range(depth):
        shorter = rest.replace(b"[]", b"")  # takes away the innermost level
        if len(shorter) == len(rest):
            break
        rest = shorter
    return b"[]" in rest or rest.count(b"[") > depth


def _could_hold(text: bytes) -> int:
    return 1 + text.count(b",") + text.count(b"[") + text.count(b"{")


def _outside_strings(data: bytes) -> bytes:
    """Return the brackets and commas that stand outside strings."""
    data = _without_escapes(data)
    # Two quotes without a bracket or comma between them change nothing about what is outside.
    marks = data.translate(None, _OTHERS).replace(b'""', b"")
    if b'"' not in marks:
        return marks
    kept, inside = [], 0
    for start in range(0, len(marks), _CHUNK):
        pieces = marks[start : start + _CHUNK].split(b'"')
        kept.append(b"".join(pieces[inside::2]))
        inside ^= len(pieces) % 2 == 0
    return b"".join(kept)


def _without_escapes(data: bytes) -> bytes:
    """Return the document without escaped quotes and backslashes: what quotes are left begin and end strings."""
    return data.replace(b"\\\\", b"").replace(b'\\"', b"") if b"\\" in data else data
