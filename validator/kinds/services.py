"""Interfaces of what serves a kind from outside: the supply of its tasks, and the runner of accepted answers."""

from typing import Any, NamedTuple, Protocol

from sssa.kinds.judging import Expected
from sssa.protocol.results import Passed
from sssa.protocol.round import RoundTask
from sssa.scoring import Rules
from validator.tasks.source import Order


class PackedTask(NamedTuple):
    """A task of the round.

    Attributes:
        bundle: as it is dispatched; None where the task itself holds all that is sent.
        sourced: whether a source gave it, which has to know that; False if it was made for this round.
    """

    task: RoundTask
    bundle: bytes | None
    sourced: bool = True


class Supply(Protocol):
    """Source of a kind's tasks."""

    async def fill(self, rules: Rules, round_id: str, order: Order, salt: bytes) -> list[PackedTask]:
        """Return the kind's tasks for a round in plan order: types as in SPEC 1, then slots.

        Args:
            rules: of the round's version: how many slots a type has, and the windows of tasks without their own.
            round_id: of the round.
            order: in which tasks that a source holds are due.
            salt: of the epoch, raw; secret while in use.
        """


class Runner(Protocol):
    """Runs accepted answers of a kind, each once: a run costs."""

    async def run(self, round_id: str, expected: Expected[Any], accepted: Any, seconds: float) -> Passed:
        """Run what the kind's gates accepted; return the result of it.

        Raises:
            ExceptionGroup: an error of the validator, whatever others do.
        """
