"""Where two JSON values part, and what stands on either side."""

import json
from typing import Any, Final, NamedTuple

from validator.protocol.text import printable

_SHOWN: Final = 120  # code points of a value in a message


class Difference(NamedTuple):
    """The first place where two values differ; `...` is a value that is not there."""

    place: str
    stands: Any
    follows: Any

    @property
    def told(self) -> str:
        """What stands there and what follows, in one printable line."""
        if self.stands is ...:
            return f"is missing, {shown(self.follows)} follows"
        return f"is {shown(self.stands)}, {'nothing' if self.follows is ... else shown(self.follows)} follows"


def shown(value: Any) -> str:
    """Return a JSON value in one short printable line."""
    return printable(json.dumps(value, ensure_ascii=False), _SHOWN)


def first_difference(one: Any, other: Any, path: str = "") -> Difference | None:
    """Return the first place where two JSON values differ, None where they do not."""
    if isinstance(one, dict) and isinstance(other, dict):
        keys = [*one, *(key for key in other if key not in one)]
        pairs = [(f"{path}.{key}" if path else key, one.get(key, ...), other.get(key, ...)) for key in keys]
    elif isinstance(one, list) and isinstance(other, list):
        longest = range(max(len(one), len(other)))
        pairs = [(f"{path}[{i}]", _item(one, i), _item(other, i)) for i in longest]
    else:
        return None if one == other else Difference(path, one, other)
    return next((first_difference(a, b, place) for place, a, b in pairs if a != b), None)


def _item(values: list[Any], i: int) -> Any:
    return values[i] if i < len(values) else ...
