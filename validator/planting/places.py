"""Lines of a file, found again after the file was changed."""

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final

_MOST_PAIRS: Final = 4_000_000  # of changed lines to compare: a change is local, or nothing is said


def moved(before: bytes, after: bytes, line: int) -> int | None:
    """Return which line of `after` is the line `line` of `before`, from 1 on; None where that is not beyond doubt.

    It is the same up to space and a comma at its end, in which lists and objects differ when something follows. Where
    lines that are alike leave more than one answer, there is none.
    """
    old, new = _lines(before), _lines(after)
    if not 1 <= line <= len(old):
        return None
    first = _match(old, new, line - 1)
    last = _match(old[::-1], new[::-1], len(old) - line)
    return first + 1 if first is not None and last is not None and first == len(new) - 1 - last else None


def _lines(content: bytes) -> list[bytes]:
    return [line.rstrip().removesuffix(b",") for line in content.split(b"\n")]


def _match(old: Sequence[bytes], new: Sequence[bytes], index: int) -> int | None:
    """Return where the line at `index` comes to lie if what the two begin with counts as kept as far as it can."""
    start = _alike(old, new)
    if index < start:
        return index
    end = _alike(old[start:][::-1], new[start:][::-1])
    if index >= len(old) - end:
        return index + len(new) - len(old)
    middle, changed = old[start : len(old) - end], new[start : len(new) - end]
    if len(middle) * len(changed) > _MOST_PAIRS:
        return None
    for block in SequenceMatcher(None, middle, changed, autojunk=False).get_matching_blocks():
        if block.a <= index - start < block.a + block.size:
            return start + block.b + index - start - block.a
    return None


def _alike(one: Sequence[bytes], other: Sequence[bytes]) -> int:
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
