"""A reason code in words."""

from validator.protocol.reasons import Reason


def meaning_of(code: str | None) -> str | None:
    """Return what a stored code means; None for none, and for a code that this version does not know."""
    try:
        return None if code is None else Reason(code).meaning
    except ValueError:
        return None


def gate_of(code: str | None) -> int | None:
    """Return the gate that a code names, None where it names none."""
    try:
        return None if code is None else Reason(code).gate or None
    except ValueError:
        return None
