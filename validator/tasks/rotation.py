"""Fair turns over a finite collection."""

from collections.abc import Collection, Hashable, Iterable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Rotation(Generic[K]):
    """Remembers what was served when, in memory only: after a restart the collection's own order decides again."""

    def __init__(self) -> None:
        self._turns: dict[K, int] = {}
        self._turn = 0

    def rank(self, keys: Iterable[K], exclude: Collection[K]) -> list[K]:
        """Return the keys in the order in which they are due.

        First those outside `exclude`, then those in it (served again only where nothing else is left: a finite
        collection must not starve the round); within each the least recently served first, then in the order given.
        """
        return sorted(keys, key=lambda key: (key in exclude, self._turns.get(key, 0)))

    def served(self, key: K) -> None:
        """Note that `key` was served now."""
        self._turn += 1
        self._turns[key] = self._turn
