"""Which truths an export shows: all of them, or those that nothing rests on any more (SPEC 16, D-31)."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, Protocol

import msgspec

from validator.protocol.errors import ValidatorError
from validator.store import Transaction


class PlainTruthError(ValidatorError):
    """The log tells truths that cannot be left out.

    Args:
        round_id: the first such round of the export.
    """

    def __init__(self, round_id: int) -> None:
        self.round_id = round_id
        super().__init__(f"round {round_id} was frozen before truths were committed to")


class Truths(Protocol):
    """Decides which truths an export shows."""

    async def shown(self, tx: Transaction, round_id: int) -> Collection[str] | None:
        """Return the tasks of a round whose truth is shown; None for all."""

    def refuse_plain(self, round_id: int, tasks: Sequence[Mapping[str, Any]]) -> None:
        """Refuse a round whose input, with `tasks` as stored, tells truths that may not be shown (PlainTruthError)."""


class _Every:
    """Shows every truth: for the validator's own eyes."""

    async def shown(self, tx: Transaction, round_id: int) -> None:
        """Return None: all."""

    def refuse_plain(self, round_id: int, tasks: Sequence[Mapping[str, Any]]) -> None:
        """Refuse nothing."""


class _Retired:
    """Shows the truths of retired tasks alone: for everybody's eyes."""

    async def shown(self, tx: Transaction, round_id: int) -> Collection[str]:
        """See `Truths`."""
        return await tx.retired.of_round(round_id)

    def refuse_plain(self, round_id: int, tasks: Sequence[Mapping[str, Any]]) -> None:
        """See `Truths`."""
        if tells_truth(tasks):
            raise PlainTruthError(round_id)


EVERY: Final[Truths] = _Every()
RETIRED: Final[Truths] = _Retired()


def tells_truth(tasks: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a task, as it is stored, has a truth that its round does not commit to."""
    return any(
        "truth_random" not in task and (task["truth"] is not None or task.get("workflow") is not None) for task in tasks
    )


async def first_without_plain_truth(tx: Transaction, round_id: int) -> int | None:
    """Return the first round from which on no input tells a truth; None where the newest one does.

    Args:
        tx: to look in.
        round_id: one that does.
    """
    last = newest = round_id
    for newest in await tx.rounds.ids(round_id + 1):
        data = await tx.rounds.document_bytes(newest, "input")
        if data is not None and tells_truth(msgspec.json.decode(data)["tasks"]):
            last = newest
    return None if last == newest else last + 1
