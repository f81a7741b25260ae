"""Params of a step, read within bounds: they come out of strangers' plans."""

from collections.abc import Mapping, Sequence
from typing import Any

from validator.protocol.errors import ValidatorError

Params = Mapping[str, Any]


class ParamsError(ValidatorError):
    """The step's params are not what the action takes."""


def text_of(params: Params, name: str) -> str:
    """Return a text.

    Raises:
        ParamsError: missing, or none.
    """
    value = params.get(name)
    if not isinstance(value, str):
        raise ParamsError(f"must be a text - at `params.{name}`")
    return value


def count_of(params: Params, name: str, most: int) -> int:
    """Return a whole number from 1 to `most`.

    Raises:
        ParamsError: missing, or none.
    """
    value = params.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1 <= value <= most or value % 1:
        raise ParamsError(f"must be a whole number from 1 to {most} - at `params.{name}`")
    return int(value)


def texts_of(params: Params, name: str) -> Sequence[str]:
    """Return a list of texts.

    Raises:
        ParamsError: missing, or none.
    """
    value = params.get(name)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ParamsError(f"must be a list of texts - at `params.{name}`")
    return value


def rows_of(params: Params, name: str) -> Sequence[Mapping[str, Any]]:
    """Return a list of objects.

    Raises:
        ParamsError: missing, or none.
    """
    value = params.get(name)
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise ParamsError(f"must be a list of objects - at `params.{name}`")
    return value
