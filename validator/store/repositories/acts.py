"""What an operator did, on its way into the log: each act stands in the receipt of one round (SPEC 16, D-28)."""

from itertools import groupby
from typing import Any

from msgspec import UNSET, UnsetType
from sqlalchemy import Row, and_, func, or_, select, update

from validator.protocol.acts import MAX_ACTS, ClearedFlag, FlagsCleared
from validator.protocol.skill_types import SkillType
from validator.protocol.times import format_time
from validator.store.repositories.base import Repository
from validator.store.tables import flags, rounds


class OperatorActs(Repository):
    """Acts by the round that tells them: the first that is frozen after them, so that no input shows one untold."""

    async def tell(self, round_id: int) -> None:
        """Let the round that is being frozen tell what no other does: the oldest, where there is more than fits."""
        f = flags.c
        untold = and_(f.cleared_at.is_not(None), f.told_in.is_(None))
        oldest = select(f.hotkey).where(untold).group_by(f.hotkey).order_by(func.min(f.id)).limit(MAX_ACTS)
        await self._changed(update(flags).where(untold, f.hotkey.in_(oldest)).values(told_in=round_id))

    async def of_round(self, round_id: int) -> tuple[FlagsCleared, ...] | UnsetType:
        """Return the acts that a round's receipt tells; unset where it was frozen before receipts did."""
        form = await self._scalar(select(rounds.c.record_form).where(rounds.c.round_id == round_id))
        if form is None:
            return UNSET
        f = flags.c
        told = select(flags).where(f.told_in == round_id)
        found = await self._all(told.order_by(f.cleared_at, f.hotkey, f.round_id, f.skill_type))
        return tuple(_cleared(list(together)) for _, together in groupby(found, key=_whose))

    async def standing_in_input(self) -> dict[str, int]:
        """Return hotkey to number of flags as a round that is frozen now has them, after `tell`."""
        return await self._counted(flags.c.told_in.is_(None))

    async def standing_in_log(self) -> dict[str, int]:
        """Return hotkey to number of flags as the log has them now: what an open round will tell still stands."""
        still_open = select(rounds.c.round_id).where(rounds.c.state == "open")
        return await self._counted(or_(flags.c.told_in.is_(None), flags.c.told_in.in_(still_open)))

    async def _counted(self, standing: Any) -> dict[str, int]:
        statement = select(flags.c.hotkey, func.count().label("standing")).where(standing)
        return {row.hotkey: row.standing for row in await self._all(statement.group_by(flags.c.hotkey))}


def _whose(row: Row[Any]) -> tuple[Any, ...]:
    return row.cleared_at, row.hotkey, row.cleared_reason


def _cleared(together: list[Row[Any]]) -> FlagsCleared:
    first = together[0]
    return FlagsCleared(
        act="flags_cleared",
        hotkey=first.hotkey,
        at=format_time(first.cleared_at),
        reason=first.cleared_reason,
        flags=tuple(ClearedFlag(SkillType(row.skill_type), str(row.round_id)) for row in together),
    )
