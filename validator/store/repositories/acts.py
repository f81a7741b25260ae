"""What an operator did, on its way into the log: each act is in the input of one round (SPEC 16, D-28)."""

from itertools import groupby
from typing import Any

from sqlalchemy import Row, and_, func, or_, select, update

from validator.protocol.round.acts import MAX_ACTS, ClearedFlag, FlagsCleared
from validator.protocol.skill_types import SkillType
from validator.protocol.times import format_time
from validator.store.repositories.base import Repository
from validator.store.tables import flags, rounds


class OperatorActs(Repository):
    """Acts by the round whose input has them: the first that is frozen after them."""

    async def tell(self, round_id: int) -> tuple[FlagsCleared, ...]:
        """Return the acts for the input that is being frozen: what no other has, the oldest of them if not all fit."""
        f = flags.c
        untold = and_(f.cleared_at.is_not(None), f.told_in.is_(None))
        oldest = select(f.hotkey).where(untold).group_by(f.hotkey).order_by(func.min(f.id)).limit(MAX_ACTS)
        await self._changed(update(flags).where(untold, f.hotkey.in_(oldest)).values(told_in=round_id))
        told = select(flags).where(f.told_in == round_id)
        found = await self._all(told.order_by(f.cleared_at, f.hotkey, f.round_id, f.skill_type))
        return tuple(_cleared(list(together)) for _, together in groupby(found, key=_whose))

    async def take_back(self, round_id: int) -> None:
        """Leave the acts of a round whose input the log cannot show to the next one."""
        await self._changed(update(flags).where(flags.c.told_in == round_id).values(told_in=None))

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
