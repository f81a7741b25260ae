"""A benchmark case (its work, and the floor that it is compared with) and its result."""

from collections.abc import Callable
from typing import NamedTuple

import msgspec


class Case(NamedTuple):
    """One figure next to the least that it could be.

    Attributes:
        case: what is done, and to how much.
        unit: of the figure, such as `groups/s`.
        run: does it and returns the figure.
        floor: does what no implementation could leave out and returns the figure of that; None where there is none.
        floor_is: what that is.
        demand: what the figure or its ratio to the floor must be, for the table.
        runs: how often each is measured.
        warm_up: how often each is run before.
    """

    case: str
    unit: str
    run: Callable[[], float]
    floor: Callable[[], float] | None = None
    floor_is: str = ""
    demand: str = ""
    runs: int = 15
    warm_up: int = 1


class Row(msgspec.Struct, frozen=True):
    """Medians of a case and of its floor, `ratio` the first in the second; `min` and `max` are the case's own."""

    name: str
    case: str
    value: float
    unit: str
    floor: float | None
    ratio: float | None
    min: float
    max: float
