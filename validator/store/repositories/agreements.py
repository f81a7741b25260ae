"""Collusion samples and their windows (SPEC 9)."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Row, and_, select, update

from validator.protocol.round import AgreementPair, AgreementSample
from validator.protocol.skill_types import SkillType
from validator.store.records import SampleRecord
from validator.store.repositories.base import Repository
from validator.store.repositories.newest import newest_of_each
from validator.store.tables import agreements


class Agreements(Repository):
    """Samples by (hotkey, skill_type, round_id), those that did not count included."""

    async def put_all(self, round_id: int, samples: Sequence[AgreementSample]) -> None:
        """Insert a round's samples."""
        await self._insert(
            agreements,
            [
                {
                    "hotkey": sample.hotkey,
                    "skill_type": sample.skill_type,
                    "round_id": round_id,
                    "with_primaries": sample.with_primaries,
                    "with_auditors": sample.with_auditors,
                    "counted": sample.counted,
                    "reason": sample.reason,
                }
                for sample in samples
            ],
        )

    async def windows(self, most: int) -> Mapping[tuple[str, SkillType], tuple[AgreementPair, ...]]:
        """Return (hotkey, skill_type) -> the newest `most` counted samples since the last flag, oldest first."""
        a = agreements.c
        open_ones = and_(a.counted, a.consumed_by.is_(None))
        columns = (a.hotkey, a.skill_type, a.round_id, a.with_primaries, a.with_auditors)
        newest = newest_of_each(self._dialect, agreements, columns, a.round_id, most, where=open_ones)
        found: dict[tuple[str, SkillType], list[AgreementPair]] = defaultdict(list)
        for row in await self._all(select(newest).order_by(newest.c.round_id)):
            pair = AgreementPair(row.with_primaries, row.with_auditors)
            found[row.hotkey, SkillType(row.skill_type)].append(pair)
        return {pair: tuple(samples) for pair, samples in found.items()}

    async def of_round(self, round_id: int) -> tuple[AgreementSample, ...]:
        """Return a round's samples by hotkey, then type."""
        statement = select(agreements).where(agreements.c.round_id == round_id)
        found = await self._all(statement.order_by(agreements.c.hotkey, agreements.c.skill_type))
        return tuple(_record(row).sample for row in found)

    async def consume(self, hotkey: str, skill_type: SkillType, flag_id: int) -> int:
        """Close the pair's window for good (D-9): the next flag needs new samples.

        Returns:
            How many counted samples the flag consumed; those beyond the version's window go with it.
        """
        a = agreements.c
        pair = (a.hotkey == hotkey) & (a.skill_type == skill_type)
        statement = update(agreements).where(pair, a.counted, a.consumed_by.is_(None))
        return await self._changed(statement.values(consumed_by=flag_id))

    async def consumed_by(self, flag_id: int, limit: int) -> tuple[SampleRecord, ...]:
        """Return the newest `limit` samples that a flag consumed, oldest first."""
        statement = select(agreements).where(agreements.c.consumed_by == flag_id)
        newest = await self._all(statement.order_by(agreements.c.round_id.desc()).limit(limit))
        return tuple(_record(row) for row in reversed(newest))


def _record(row: Row[Any]) -> SampleRecord:
    sample = AgreementSample(
        hotkey=row.hotkey,
        skill_type=SkillType(row.skill_type),
        with_primaries=row.with_primaries,
        with_auditors=row.with_auditors,
        counted=row.counted,
        reason=row.reason,
    )
    return SampleRecord(row.round_id, sample)
