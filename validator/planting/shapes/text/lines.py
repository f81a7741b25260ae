"""Whole lines put into texts: every old line stays as it is, in its order, with the file's own line endings."""

from collections.abc import Sequence
from typing import Final, NamedTuple

MAX_BYTES: Final = 512 * 1024


class Placed(NamedTuple):
    """A text with something new in it.

    Attributes:
        content: the whole file.
        line: where the new part begins, from 1 on.
    """

    content: bytes
    line: int


def text_of(content: bytes) -> str | None:
    """Return the text of a file; None where it is no UTF-8, holds a NUL, or is longer than 512 KiB."""
    if len(content) > MAX_BYTES or b"\0" in content:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def ending_of(text: str) -> str:
    """Return what the text's lines end with."""
    return "\r\n" if "\r\n" in text else "\n"


def lines_of(text: str) -> list[str]:
    """Return the lines without their endings; a last one that is empty is none."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def put(text: str, at: int, block: Sequence[str]) -> Placed:
    """Return the text with `block` before line `at`, counted from 0; at the end where it is their count."""
    parts = text.split("\n")
    if parts[-1] == "":
        parts.pop()
    whole, ending = text.endswith("\n") or not text, ending_of(text)
    before, after = parts[:at], parts[at:]
    tail = "\r" if ending == "\r\n" else ""
    if before and not after and not whole:
        before[-1] += tail
    new = [line + tail for line in block]
    joined = "\n".join((*before, *new, *after))
    return Placed((joined + ("\n" if whole or not after else "")).encode(), at + 1)
