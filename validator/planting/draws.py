"""Choices drawn from random bytes."""

import json
from collections.abc import Sequence
from typing import Any, TypeVar

from validator.sources import RandomBytes

T = TypeVar("T")


class Draws:
    """Draws numbers and elements; the same bytes give the same draws.

    Args:
        random: the bytes.
    """

    def __init__(self, random: RandomBytes) -> None:
        self._random = random

    def number(self, low: int, high: int) -> int:
        """Return an integer from `low` to `high`, both included."""
        return low + int.from_bytes(self._random.token(8), "big") % (high - low + 1)

    def pick(self, choices: Sequence[T]) -> T:
        """Return one element."""
        return choices[self.number(0, len(choices) - 1)]

    def some(self, choices: Sequence[T], low: int, high: int) -> list[T]:
        """Return `low` to `high` different elements in drawn order; all of them where there are fewer."""
        left = list(choices)
        count = min(self.number(low, high), len(left))
        return [left.pop(self.number(0, len(left) - 1)) for _ in range(count)]

    def version(self) -> str:
        """Return a version number such as `1.4.12`."""
        return f"{self.number(0, 4)}.{self.number(0, 19)}.{self.number(0, 29)}"

    def date(self) -> str:
        """Return a day of recent years, `YYYY-MM-DD`."""
        return f"{self.number(2021, 2026)}-{self.number(1, 12):02}-{self.number(1, 28):02}"


def json_file(document: Any) -> bytes:
    """Return `document` as a JSON file that people can read."""
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()
