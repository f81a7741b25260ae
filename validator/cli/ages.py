"""Spans of time in words, for people."""

from typing import Final

_SPANS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def span(seconds: float) -> str:
    """Return a span in its two largest units: `3 h 12 min`; what is not positive is `0 s`."""
    left, words = max(0, int(seconds)), []
    for length, unit in _SPANS:
        if left >= length:
            words.append(f"{left // length} {unit}")
            left %= length
    return " ".join(words[:2]) or "0 s"


def size(amount: float) -> str:
    """Return bytes in the unit that fits: `213.4 MiB`."""
    for unit in ("B", "KiB", "MiB"):
        if amount < 1024:  # noqa: PLR2004 - a step of the binary units
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} GiB"
