"""Collusion flags: raised by rounds, cleared by the operator with a reason (SPEC 9)."""

from datetime import datetime
from typing import Any, Final

from sqlalchemy import Row, func, select, update

from validator.protocol.round import FlagRaised
from validator.protocol.skill_types import SkillType
from validator.store.errors import EmptyReasonError
from validator.store.records import FlagDetail, FlagRecord
from validator.store.repositories.agreements import Agreements
from validator.store.repositories.base import ROUND, Repository, inserted_id
from validator.store.tables import flags

_OF_ROUND: Final = select(flags).where(flags.c.round_id == ROUND).order_by(flags.c.id)


class Flags(Repository):
    """Flags; a cleared one stays in the table."""

    async def raise_(self, flag: FlagRaised, round_id: int, at: datetime) -> int:
        """Store a flag and return its id; `agreements.consume` with it belongs into the same transaction."""
        values = {
            "hotkey": flag.hotkey,
            "skill_type": flag.skill_type,
            "round_id": round_id,
            "mean_with_primaries": flag.mean_with_primaries,
            "mean_with_auditors": flag.mean_with_auditors,
            "samples": flag.samples,
            "raised_at": at,
        }
        return int(await self._scalar(inserted_id(flags).values(values)))

    async def standing(self) -> dict[str, int]:
        """Return hotkey -> number of flags not cleared, over all types; hotkeys without one are absent."""
        statement = select(flags.c.hotkey, func.count().label("standing")).where(flags.c.cleared_at.is_(None))
        return {row.hotkey: row.standing for row in await self._all(statement.group_by(flags.c.hotkey))}

    async def listing(self, *, include_cleared: bool = False) -> tuple[FlagRecord, ...]:
        """Return the flags, oldest first."""
        statement = select(flags).order_by(flags.c.id)
        if not include_cleared:
            statement = statement.where(flags.c.cleared_at.is_(None))
        return tuple(_record(row) for row in await self._all(statement))

    async def of_round(self, round_id: int) -> tuple[FlagRecord, ...]:
        """Return the flags that a round raised, cleared ones too, oldest first."""
        return tuple(_record(row) for row in await self._all_of(round_id, _OF_ROUND))

    async def get(self, which: int | str) -> tuple[FlagDetail, ...]:
        """Return the flag with this id, or all flags of this hotkey (cleared ones too), with their samples."""
        wanted = flags.c.id == which if isinstance(which, int) else flags.c.hotkey == which
        records = [_record(row) for row in await self._all(select(flags).where(wanted).order_by(flags.c.id))]
        samples = Agreements(self._connection, self._packing)
        return tuple(
            [FlagDetail(record, await samples.consumed_by(record.id, record.flag.samples)) for record in records]
        )

    async def clear(self, hotkey: str, reason: str, at: datetime) -> int:
        """Clear a miner's standing flags and return how many there were.

        Raises:
            EmptyReasonError: `reason` says nothing.
        """
        if not reason.strip():
            raise EmptyReasonError("write down why, it is stored with the flags")
        standing = update(flags).where(flags.c.hotkey == hotkey, flags.c.cleared_at.is_(None))
        return await self._changed(standing.values(cleared_at=at, cleared_reason=reason.strip()))


def _record(row: Row[Any]) -> FlagRecord:
    flag = FlagRaised(
        hotkey=row.hotkey,
        skill_type=SkillType(row.skill_type),
        mean_with_primaries=row.mean_with_primaries,
        mean_with_auditors=row.mean_with_auditors,
        samples=row.samples,
    )
    return FlagRecord(row.id, row.round_id, flag, row.raised_at, row.cleared_at, row.cleared_reason)
