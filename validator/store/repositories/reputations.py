"""Reputations (SPEC 10). The events that made them are in the outcomes of rounds."""

from collections.abc import Collection, Sequence

from sqlalchemy import select

from validator.protocol.round import ReputationEvent
from validator.protocol.skill_types import SkillType
from validator.store.errors import ReputationConflictError
from validator.store.repositories.base import Repository, of_hotkeys
from validator.store.tables import reputations


class Reputations(Repository):
    """Values per (hotkey, skill_type); a pair without a row stands where its version says that everybody starts."""

    async def all(self, hotkeys: Collection[str] | None = None) -> dict[tuple[str, SkillType], float]:
        """Return (hotkey, skill_type) -> value of every pair that ever had an event; of `hotkeys`, None for all."""
        statement = of_hotkeys(select(reputations), reputations, hotkeys).order_by(
            reputations.c.hotkey, reputations.c.skill_type
        )
        found = await self._all(statement)
        return {(row.hotkey, SkillType(row.skill_type)): row.value for row in found}

    async def apply(self, events: Sequence[ReputationEvent], start: float) -> None:
        """Take over the values that a round's events lead to, in their order.

        Args:
            events: of the round.
            start: where a pair without a value stands.

        Raises:
            ReputationConflictError: an event's `before` is not the value that stands when its turn comes.
        """
        if not events:
            return
        standing, changed = await self.all({event.hotkey for event in events}), {}
        for event in events:
            pair = event.hotkey, event.skill_type
            value = standing.get(pair, start)
            if event.before != value:
                raise ReputationConflictError(
                    f"{event.hotkey}, {event.skill_type}: {event.kind} starts from {event.before}, stored is {value}"
                )
            standing[pair] = changed[pair] = event.after
        rows = [{"hotkey": key, "skill_type": kind, "value": value} for (key, kind), value in changed.items()]
        await self._upsert(reputations, rows)
