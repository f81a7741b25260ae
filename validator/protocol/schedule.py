"""Names with the epochs from which on they are in force: what the validators of a subnet agree on (SPEC 15, 16)."""

from collections.abc import Mapping
from itertools import pairwise

from validator.protocol.errors import ValidatorError
from validator.protocol.text import printable


class ScheduleError(ValidatorError):
    """The schedule cannot be followed."""


def check_starts(setting: str, starts: Mapping[str, int]) -> None:
    """Refuse a schedule that does not begin at epoch 0, or is out of order.

    Raises:
        ScheduleError: naming the setting, what is wrong with it and what to write.
    """
    if next(iter(starts.values()), None) != 0:
        raise ScheduleError(f"{setting}: the first entry must begin at epoch 0")
    for (_, first), (name, then) in pairwise(starts.items()):
        if then <= first:
            fault = f"must begin after epoch {first}, with which the one before it begins"
            raise ScheduleError(f"{setting}: {printable(name, 160)} {fault}")


def name_at(starts: Mapping[str, int], epoch: int) -> str:
    """Return the name that is in force in this epoch."""
    return [name for name, first in starts.items() if first <= epoch][-1]
