"""What every record of a proof checks of its own values, so that its checksum can be computed again anywhere."""

import math
from typing import Any, Final, TypeGuard, TypeVar

from validator.protocol.errors import ValidatorError
from validator.protocol.limits import MAX_SAFE_INTEGER

T = TypeVar("T")
MAX_WEIGHT: Final = 1_000_000.0
MAX_DEPTH: Final = 8
EPOCH: Final = "1970-01-01T00:00:00Z"


class ProofError(ValidatorError, ValueError):
    """A consensus proof cannot hold this."""


class UnknownClaimError(ProofError):
    """No claim with this id has been added."""


def unit(value: Any, field: str) -> float:
    """Return `value` as a float in [0, 1].

    Raises:
        ProofError: no number, a NaN, or outside; the text names `field`.
    """
    return _number(value, field, 1.0)


def weight(value: Any, field: str) -> float:
    """Return `value` as a float in [0, MAX_WEIGHT]; larger ones could overflow a sum.

    Raises:
        ProofError: no number, a NaN, or outside; the text names `field`.
    """
    return _number(value, field, MAX_WEIGHT)


def text(value: Any, field: str) -> str:
    """Return `value`, which must be a string that UTF-8 can write.

    Raises:
        ProofError: something else; the text names `field`.
    """
    if _is_ascii(value):
        return value
    if not isinstance(value, str):
        raise ProofError(f"{field} must be a string, not {type(value).__name__}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ProofError(f"{field} holds a lone surrogate") from None
    return value


def optional_text(value: Any, field: str) -> str | None:
    """Return `value`, None or a string that UTF-8 can write.

    Raises:
        ProofError: something else; the text names `field`.
    """
    return None if value is None else text(value, field)


def flag(value: Any, field: str) -> bool:
    """Return `value`, True or False; a word such as "no" would count as yes.

    Raises:
        ProofError: something else; the text names `field`.
    """
    if not isinstance(value, bool):
        raise ProofError(f"{field} must be true or false, not {type(value).__name__}")
    return value


def whole(value: Any, field: str) -> int:
    """Return `value`, an integer from 0 that JSON carries exactly.

    Raises:
        ProofError: something else; the text names `field`.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise ProofError(f"{field} must be a whole number, not {type(value).__name__}")
    if not 0 <= value <= MAX_SAFE_INTEGER:
        raise ProofError(f"{field} must be from 0 to 2**53 - 1")
    return value


def records(values: Any, field: str, kind: type[T]) -> list[T]:
    """Return `values`, which must be a list of `kind`; the same list, so that it can go on growing.

    Raises:
        ProofError: something else; the text names `field` and the place.
    """
    if not isinstance(values, list):
        raise ProofError(f"{field} must be a list, not {type(values).__name__}")
    for i, value in enumerate(values):
        if not isinstance(value, kind):
            raise ProofError(f"{field}[{i}] must hold {kind.__name__}, not {type(value).__name__}")
    return values


def texts(values: Any, field: str) -> list[str]:
    """Return `values`, a list or tuple of strings, as a list of its own.

    Raises:
        ProofError: something else; the text names `field` and the place.
    """
    if not isinstance(values, list | tuple):
        raise ProofError(f"{field} must be a list, not {type(values).__name__}")
    return [text(value, f"{field}[{i}]") for i, value in enumerate(values)]


def plain(value: Any, field: str, depth: int = MAX_DEPTH) -> Any:
    """Return `value` as JSON data that reads back as it was written: whole numbers are integers, keys sorted.

    Raises:
        ProofError: no JSON data, nested deeper than `depth`, or a number JSON cannot carry exactly.
    """
    if depth == 0:
        raise ProofError(f"{field} is nested too deeply")
    if isinstance(value, dict):
        for key in value if not all(map(_is_ascii, value)) else ():
            text(key, f"{field}: a key")
        return {
            key: value[key]
            if depth > 1 and _is_ascii(value[key])  # most are; a path for each takes longer than the rest
            else plain(value[key], f"{field}.{key}", depth - 1)
            for key in sorted(value)
        }
    if isinstance(value, list | tuple):
        return [plain(item, f"{field}[{i}]", depth - 1) for i, item in enumerate(value)]
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return _exact(value, field)
    return text(value, field)


def _is_ascii(value: Any) -> TypeGuard[str]:
    return type(value) is str and value.isascii()


def _exact(value: float, field: str) -> float:
    if not math.isfinite(value) or abs(value) > MAX_SAFE_INTEGER:
        raise ProofError(f"{field} must be a number within 2**53")
    return int(value) if value == int(value) else value


def _number(value: Any, field: str, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ProofError(f"{field} must be a number, not {type(value).__name__}")
    if not 0 <= value <= most:  # a NaN is in no range
        raise ProofError(f"{field} must be from 0 to {most:g}")
    return float(value) + 0.0  # minus zero is zero, as in RFC 8785
