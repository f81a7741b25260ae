"""Acts of an operator: flags that were cleared. Each act is in the input of one round (SPEC 16, D-28)."""

from datetime import datetime
from itertools import groupby
from typing import Any

from sqlalchemy import Row, func, select, update

from validator.protocol.round.acts import MAX_ACTS, ClearedFlag, FlagsCleared
from validator.protocol.skill_types import SkillType
from validator.protocol.times import format_time
from validator.store.errors import EmptyReasonError
from validator.store.repositories.base import Repository
from validator.store.repositories.state import States
from validator.store.tables import acts

a = acts.c


class OperatorActs(Repository):
    """Acts by the round whose input has them: the first that is frozen after them."""

    async def clear(self, hotkey: str, reason: str, at: datetime) -> int:
        """Clear a miner's flags and return how many there were; they stand until a round has told the act.

        Raises:
            EmptyReasonError: `reason` says nothing.
        """
        if not reason.strip():
            raise EmptyReasonError("write down why, it is stored with the flags")
        standing = (await States(self._connection, self._packing).of([hotkey])).miner(hotkey).flags
        rows = [
            {
                "hotkey": hotkey,
                "skill_type": flag.skill_type,
                "round_id": int(flag.round_id),
                "cleared_at": at,
                "reason": reason.strip(),
            }
            for flag in standing
        ]
        return sum([await self._insert_new(acts, row) for row in rows])

    async def tell(self, round_id: int) -> tuple[FlagsCleared, ...]:
        """Return the acts for the input that is being frozen: what no other has, the oldest of them if not all fit."""
        untold = a.told_in.is_(None)
        oldest = select(a.hotkey).where(untold).group_by(a.hotkey).order_by(func.min(a.cleared_at), a.hotkey)
        hotkeys = [row.hotkey for row in await self._all(oldest.limit(MAX_ACTS))]
        if not hotkeys:
            return ()
        await self._changed(update(acts).where(untold, a.hotkey.in_(hotkeys)).values(told_in=round_id))
        told = select(acts).where(a.told_in == round_id)
        found = await self._all(told.order_by(a.cleared_at, a.hotkey, a.round_id, a.skill_type))
        return tuple(_cleared(list(together)) for _, together in groupby(found, key=_whose))

    async def take_back(self, round_id: int) -> None:
        """Leave the acts of a round whose input the log cannot show to the next one."""
        await self._changed(update(acts).where(a.told_in == round_id).values(told_in=None))


def _whose(row: Row[Any]) -> tuple[Any, ...]:
    return row.cleared_at, row.hotkey, row.reason


def _cleared(together: list[Row[Any]]) -> FlagsCleared:
    first = together[0]
    return FlagsCleared(
        act="flags_cleared",
        hotkey=first.hotkey,
        at=format_time(first.cleared_at),
        reason=first.reason,
        flags=tuple(ClearedFlag(SkillType(row.skill_type), str(row.round_id)) for row in together),
    )
