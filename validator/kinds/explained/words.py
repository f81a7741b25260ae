"""Small pieces of the sentences that explanations are made of."""

from typing import Final

_SHORT: Final = 8
_DRAW: Final = 8


def short(hotkey: str, length: int = _SHORT) -> str:
    """Return the first characters of a hotkey, enough to tell the members of a group apart."""
    return hotkey if len(hotkey) <= length + 1 else f"{hotkey[:length]}…"


def draw_prefix(draw: bytes) -> str:
    """Return the first 16 hex of a draw: enough to compare by eye, and to check once the salt is out (D-8)."""
    return draw[:_DRAW].hex()


def count(number: int, what: str) -> str:
    """Return `1 finding`, `2 findings`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def plain(number: float) -> str:
    """Return a constant or a factor as the specification writes it: without zeros that say nothing."""
    return f"{number:.4f}".rstrip("0").rstrip(".")
