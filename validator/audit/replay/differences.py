"""The first place where two values differ, by path."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from validator.protocol.canonical import canonical_bytes
from validator.protocol.text import printable

_SHOWN: Final = 120  # code points of a value in a message
_ABSENT: Final = object()


class Difference(NamedTuple):
    """One place where the store and the computation part.

    Attributes:
        path: like `outcome.members[3].consensus`.
        what: what is wrong there, in one printable line.
    """

    path: str
    what: str

    def __str__(self) -> str:
        return f"{self.path}: {self.what}"


def first_difference(path: str, stored: Any, recomputed: Any) -> Difference | None:
    """Return the first place where two values of plain JSON differ, None where they are the same.

    Objects are walked in the order of `recomputed`, then what only `stored` has.
    """
    if isinstance(stored, Mapping) and isinstance(recomputed, Mapping):
        names = dict.fromkeys([*recomputed, *stored])
        pairs = [(_member(path, name), stored.get(name, _ABSENT), recomputed.get(name, _ABSENT)) for name in names]
    elif _is_list(stored) and _is_list(recomputed):
        longest = range(max(len(stored), len(recomputed)))
        pairs = [(f"{path}[{i}]", _item(stored, i), _item(recomputed, i)) for i in longest]
    else:
        same = type(stored) is type(recomputed) and stored == recomputed
        return None if same else Difference(path, _said(stored, recomputed))
    found = (first_difference(*pair) for pair in pairs)
    return next((difference for difference in found if difference is not None), None)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _item(values: Sequence[Any], i: int) -> Any:
    return values[i] if i < len(values) else _ABSENT


def _member(path: str, name: str) -> str:
    return f"{path}.{name}" if name.isidentifier() else f"{path}[{printable(name, _SHOWN)}]"


def _said(stored: Any, recomputed: Any) -> str:
    if stored is _ABSENT:
        return f"missing in the store, recomputed {_text(recomputed)}"
    if recomputed is _ABSENT:
        return f"stored {_text(stored)}, does not follow from the input"
    return f"stored {_text(stored)}, recomputed {_text(recomputed)}"


def _text(value: Any) -> str:
    return printable(json.dumps(value, ensure_ascii=False), _SHOWN)


_WRITTEN: Final = msgspec.json.Encoder(order="deterministic")


def compared(path: str, stored: Any, recomputed: Any) -> Difference | None:
    """Return the first difference of two values, None if their canonical bytes are the same."""
    if _alike(stored, recomputed):
        return None
    return compared_bytes(path, canonical_bytes(stored), canonical_bytes(recomputed))


def _alike(stored: Any, recomputed: Any) -> bool:
    """Whether two values are written alike before anything is put in order: so are their canonical bytes."""
    try:
        return _WRITTEN.encode(stored) == _WRITTEN.encode(recomputed)
    except (TypeError, ValueError):
        return False


def compared_bytes(path: str, stored: bytes, recomputed: bytes) -> Difference | None:
    """Return the first difference of two JSON documents, None if they are the same byte for byte."""
    if stored == recomputed:
        return None
    try:
        before = msgspec.json.decode(stored)
    except msgspec.MsgspecError as error:
        return Difference(path, f"the stored bytes are no JSON: {error}")
    found = first_difference(path, before, msgspec.json.decode(recomputed))
    return found or Difference(path, "the same values, but the stored bytes are not their canonical form")
