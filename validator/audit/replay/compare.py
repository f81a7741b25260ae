"""Where two values differ first, by path."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

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
