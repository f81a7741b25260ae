"""The first place where two JSON values differ. Pure."""

import json
from typing import Any, Final, NamedTuple

from sssa.protocol.text import printable

_SHOWN: Final = 120  # code points of a value in a message


class Difference(NamedTuple):
    """The first place where two values differ; `...` is a value that does not exist."""

    path: str
    stored: Any
    recomputed: Any

    @property
    def sentence(self) -> str:
        """Both values in one printable line, for a proof."""
        if self.stored is ...:
            return f"is missing, {shown(self.recomputed)} follows"
        follows = "nothing" if self.recomputed is ... else shown(self.recomputed)
        return f"is {shown(self.stored)}, {follows} follows"

    def __str__(self) -> str:
        if self.stored is ...:
            return f"{self.path}: missing in the store, recomputed {shown(self.recomputed)}"
        if self.recomputed is ...:
            return f"{self.path}: stored {shown(self.stored)}, does not follow"
        return f"{self.path}: stored {shown(self.stored)}, recomputed {shown(self.recomputed)}"


def shown(value: Any) -> str:
    """Return a JSON value in one short printable line."""
    return printable(json.dumps(value, ensure_ascii=False), _SHOWN)


def first_difference(stored: Any, recomputed: Any, path: str = "") -> Difference | None:
    """Return the first place where two JSON values differ, None where they do not."""
    if isinstance(stored, dict) and isinstance(recomputed, dict):
        keys = [*stored, *(key for key in recomputed if key not in stored)]
        pairs = [(_member(path, key), stored.get(key, ...), recomputed.get(key, ...)) for key in keys]
    elif isinstance(stored, list) and isinstance(recomputed, list):
        longest = range(max(len(stored), len(recomputed)))
        pairs = [(f"{path}[{i}]", _item(stored, i), _item(recomputed, i)) for i in longest]
    else:
        return None if stored == recomputed else Difference(path, stored, recomputed)
    return next((first_difference(a, b, place) for place, a, b in pairs if a != b), None)


def _member(path: str, key: str) -> str:
    if not key.isidentifier():
        return f"{path}[{printable(key, _SHOWN)}]"
    return f"{path}.{key}" if path else key


def _item(values: list[Any], i: int) -> Any:
    return values[i] if i < len(values) else ...
