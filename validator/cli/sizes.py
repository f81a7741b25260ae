"""Bytes in words, for people."""

from typing import Final

from validator.cli.output import NONE

_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB")
_STEP: Final = 1024


def readable(size: float | None) -> str:
    """Return bytes for people."""
    if size is None:
        return NONE
    step = 0
    while size >= _STEP and step < len(_UNITS) - 1:
        size, step = size / _STEP, step + 1
    return f"{size:.0f} {_UNITS[step]}" if step == 0 else f"{size:.1f} {_UNITS[step]}"
