"""Which truths an export shows: all of them, or those that nothing rests on any more (SPEC 16, D-31)."""

from collections.abc import Collection
from typing import Final, Protocol

from validator.store import Transaction


class Truths(Protocol):
    """Decides which truths an export shows."""

    async def shown(self, tx: Transaction, round_id: int) -> Collection[str] | None:
        """Return the tasks of a round whose truth is shown; None for all."""


class _Every:
    """Shows every truth: for the validator's own eyes."""

    async def shown(self, tx: Transaction, round_id: int) -> None:
        """Return None: all."""


class _Retired:
    """Shows the truths of retired tasks alone: for everybody's eyes."""

    async def shown(self, tx: Transaction, round_id: int) -> Collection[str]:
        """See `Truths`."""
        return await tx.retired.of_round(round_id)


EVERY: Final[Truths] = _Every()
RETIRED: Final[Truths] = _Retired()
