"""What is told of one event."""

from collections.abc import Mapping
from typing import NamedTuple


class Entry(NamedTuple):
    """An event's line of the catalogue.

    Attributes:
        meaning: one line.
        fields: what it may carry beside time and level, separated by spaces.
        folds: the fields that tell one from another where a line that comes again is counted, not written, separated
            by spaces; None for events of which every line counts.
        todo: what an operator does about it, one line of Markdown with links as from docs/reference; empty: nothing.
    """

    meaning: str
    fields: str = ""
    folds: str | None = None
    todo: str = ""


# One subject's events by name.
Subject = Mapping[str, Entry]
