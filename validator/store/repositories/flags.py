"""Collusion flags as listings show them: raised by rounds, cleared by the operator with a reason (SPEC 9)."""

from typing import Any, Final

from sqlalchemy import Row, Select, and_, func, select

from validator.protocol.round import FlagRaised
from validator.protocol.skill_types import SkillType
from validator.store.records import FlagDetail, FlagRecord, SampleRecord
from validator.store.repositories.base import Repository
from validator.store.repositories.records import Records
from validator.store.tables import acts, dispatches, flags

_F: Final = flags.c
_CLEARED: Final = and_(acts.c.hotkey == _F.hotkey, acts.c.skill_type == _F.skill_type, acts.c.round_id == _F.round_id)
_LISTED: Final[Select[Any]] = (
    select(flags, acts.c.cleared_at, acts.c.reason).outerjoin_from(flags, acts, _CLEARED).order_by(_F.id)
)


class Flags(Repository):
    """Flags; a cleared one stays listed."""

    async def standing(self) -> dict[str, int]:
        """Return hotkey -> number of flags not cleared, over all types; hotkeys without one are absent."""
        uncleared = select(_F.hotkey, func.count().label("many")).outerjoin_from(flags, acts, _CLEARED)
        found = await self._all(uncleared.where(acts.c.cleared_at.is_(None)).group_by(_F.hotkey))
        return {row.hotkey: row.many for row in found}

    async def listing(self, *, include_cleared: bool = False) -> tuple[FlagRecord, ...]:
        """Return the flags, oldest first."""
        statement = _LISTED if include_cleared else _LISTED.where(acts.c.cleared_at.is_(None))
        return tuple(_record(row) for row in await self._all(statement))

    async def of_round(self, round_id: int) -> tuple[FlagRecord, ...]:
        """Return the flags that a round raised, cleared ones too, oldest first."""
        return tuple(_record(row) for row in await self._all(_LISTED.where(_F.round_id == round_id)))

    async def get(self, which: int | str) -> tuple[FlagDetail, ...]:
        """Return the flag with this id, or all flags of this hotkey (cleared ones too), with their samples.

        Raises:
            DamagedError, ArchivedError, ArchiveError: as `Records`.
        """
        wanted = _F.id == which if isinstance(which, int) else _F.hotkey == which
        records = [_record(row) for row in await self._all(_LISTED.where(wanted))]
        return tuple([FlagDetail(record, await self._samples(record)) for record in records])

    async def _samples(self, record: FlagRecord) -> tuple[SampleRecord, ...]:
        """Return the samples that a flag consumed, oldest first: the newest counted ones, as many as it says."""
        flag, found, d = record.flag, list[SampleRecord](), dispatches.c
        its = select(d.round_id).where(d.hotkey == flag.hotkey, d.skill_type == flag.skill_type)
        rounds = its.where(d.round_id <= record.round_id, d.state != "void").distinct().order_by(d.round_id.desc())
        for row in await self._all(rounds):
            if len(found) == flag.samples:
                break
            outcome = await Records(self._connection, self._packing).outcome(row.round_id)
            for sample in () if outcome is None else outcome.samples:
                if (sample.hotkey, sample.skill_type) == (flag.hotkey, flag.skill_type) and sample.counted:
                    found.append(SampleRecord(row.round_id, sample))
        return tuple(reversed(found))


def _record(row: Row[Any]) -> FlagRecord:
    flag = FlagRaised(
        hotkey=row.hotkey,
        skill_type=SkillType(row.skill_type),
        mean_with_primaries=row.mean_with_primaries,
        mean_with_auditors=row.mean_with_auditors,
        samples=row.samples,
    )
    return FlagRecord(row.id, row.round_id, flag, row.raised_at, row.cleared_at, row.reason)
