"""Reputations and the append-only events that made them (SPEC 10)."""

from collections.abc import Collection, Sequence
from typing import Any, Final

from sqlalchemy import Row, select

from validator.protocol.round import ReputationEvent
from validator.protocol.skill_types import SkillType
from validator.store.errors import ReputationConflictError
from validator.store.records import EventRecord
from validator.store.repositories.base import ROUND, Repository, of_hotkeys
from validator.store.tables import reputation_events, reputations

_OF_ROUND: Final = (
    select(reputation_events).where(reputation_events.c.round_id == ROUND).order_by(reputation_events.c.sequence)
)


class Reputations(Repository):
    """Values per (hotkey, skill_type); a pair without a row stands where its version says that everybody starts."""

    async def all(self, hotkeys: Collection[str] | None = None) -> dict[tuple[str, SkillType], float]:
        """Return (hotkey, skill_type) -> value of every pair that ever had an event; of `hotkeys`, None for all."""
        statement = of_hotkeys(select(reputations), reputations, hotkeys).order_by(
            reputations.c.hotkey, reputations.c.skill_type
        )
        found = await self._all(statement)
        return {(row.hotkey, SkillType(row.skill_type)): row.value for row in found}

    async def apply(self, events: Sequence[ReputationEvent], round_id: int, start: float) -> None:
        """Append a round's events in their order and take over the values they lead to.

        Args:
            events: of the round.
            round_id: whose.
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
        first = await self._next(reputation_events, "sequence")
        await self._insert(
            reputation_events,
            [
                {
                    "sequence": sequence,
                    "round_id": round_id,
                    "hotkey": event.hotkey,
                    "skill_type": event.skill_type,
                    "kind": event.kind,
                    "cause": event.cause,
                    "before": event.before,
                    "after": event.after,
                }
                for sequence, event in enumerate(events, first)
            ],
        )
        rows = [{"hotkey": key, "skill_type": kind, "value": value} for (key, kind), value in changed.items()]
        await self._upsert(reputations, rows)

    async def of_round(self, round_id: int) -> tuple[EventRecord, ...]:
        """Return a round's events in their order."""
        return tuple(_record(row) for row in await self._rows_of(round_id, _OF_ROUND))


def _record(row: Row[Any]) -> EventRecord:
    event = ReputationEvent(
        hotkey=row.hotkey,
        skill_type=SkillType(row.skill_type),
        kind=row.kind,
        cause=row.cause,
        before=row.before,
        after=row.after,
    )
    return EventRecord(row.sequence, row.round_id, event)
