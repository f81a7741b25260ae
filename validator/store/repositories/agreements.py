"""Collusion samples and their windows (SPEC 9)."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final

from sqlalchemy import Row, and_, delete, select, update

from validator.protocol.round import AgreementPair, AgreementSample
from validator.protocol.skill_types import SkillType
from validator.store.errors import MismatchError
from validator.store.records import SampleRecord
from validator.store.repositories.base import ROUND, Repository, of_hotkeys
from validator.store.repositories.newest import newest_of_each
from validator.store.tables import agreement_windows, agreements

MAX_SAMPLES: Final = 30  # of a window that is kept; no version has a longer one
Samples = tuple[tuple[int, float, float], ...]  # (round id, with primaries, with auditors)

_OF_ROUND: Final = (
    select(agreements).where(agreements.c.round_id == ROUND).order_by(agreements.c.hotkey, agreements.c.skill_type)
)


class Agreements(Repository):
    """Samples by (hotkey, skill_type, round_id), those that did not count included.

    What stands in the windows is kept beside them.
    """

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
        await self._enter(round_id, [sample for sample in samples if sample.counted])

    async def windows(
        self, most: int, hotkeys: Collection[str] | None = None
    ) -> Mapping[tuple[str, SkillType], tuple[AgreementPair, ...]]:
        """Return (hotkey, skill_type) -> the newest `most` counted samples since the last flag, oldest first.

        Args:
            most: of a pair, from 1 to `MAX_SAMPLES`.
            hotkeys: whose; None for everybody.
        """
        if not 1 <= most <= MAX_SAMPLES:
            raise MismatchError(f"windows of {most} samples, at most {MAX_SAMPLES} are kept")
        return {
            (hotkey, SkillType(skill_type)): tuple(AgreementPair(one, other) for _, one, other in samples[-most:])
            for (hotkey, skill_type), samples in (await self.kept(hotkeys)).items()
        }

    async def kept(self, hotkeys: Collection[str] | None = None) -> dict[tuple[str, str], Samples]:
        """Return (hotkey, skill_type) -> (round id, with primaries, with auditors) of its window, oldest first.

        Raises:
            DamagedError: what is kept cannot be read.
        """
        statement = of_hotkeys(select(agreement_windows), agreement_windows, hotkeys)
        return {(row.hotkey, row.skill_type): row.samples for row in await self._all(statement)}

    async def computed(self) -> dict[tuple[str, str], Samples]:
        """Return what `kept` must be, from the samples."""
        a = agreements.c
        open_ones = and_(
            a.counted, a.with_primaries.is_not(None), a.with_auditors.is_not(None), a.consumed_by.is_(None)
        )
        columns = (a.hotkey, a.skill_type, a.round_id, a.with_primaries, a.with_auditors)
        newest = newest_of_each(self._dialect, agreements, columns, a.round_id, MAX_SAMPLES, where=open_ones)
        found: dict[tuple[str, str], list[tuple[int, float, float]]] = defaultdict(list)
        async for row in self._stream(select(newest).order_by(newest.c.round_id)):
            found[row.hotkey, row.skill_type].append((row.round_id, row.with_primaries, row.with_auditors))
        return {pair: tuple(samples) for pair, samples in found.items()}

    async def rebuild(self) -> None:
        """Make what is kept again, where it is wrong."""
        computed = await self.computed()
        await self._changed(delete(agreement_windows))
        await self._insert(agreement_windows, _window_rows(computed))

    async def _enter(self, round_id: int, counted: Sequence[AgreementSample]) -> None:
        windows = await self.kept({sample.hotkey for sample in counted})
        changed: dict[tuple[str, str], Samples] = {}
        for sample in counted:
            one, other = sample.with_primaries, sample.with_auditors
            if one is not None and other is not None:
                pair = sample.hotkey, str(sample.skill_type)
                # By round: one may end after a newer one.
                window = sorted((*windows.get(pair, ()), (round_id, one, other)), key=itemgetter(0))
                changed[pair] = tuple(window[-MAX_SAMPLES:])
        await self._upsert(agreement_windows, _window_rows(changed))

    async def of_round(self, round_id: int) -> tuple[AgreementSample, ...]:
        """Return a round's samples by hotkey, then type."""
        return tuple(_record(row).sample for row in await self._all_of(round_id, _OF_ROUND))

    async def consume(self, hotkey: str, skill_type: SkillType, flag_id: int) -> int:
        """Close the pair's window for good (D-9): the next flag needs new samples.

        Returns:
            How many counted samples the flag consumed; those beyond the version's window go with it.
        """
        a = agreements.c
        pair = (a.hotkey == hotkey) & (a.skill_type == skill_type)
        statement = update(agreements).where(pair, a.counted, a.consumed_by.is_(None))
        w = agreement_windows.c
        await self._changed(delete(agreement_windows).where(w.hotkey == hotkey, w.skill_type == skill_type))
        return await self._changed(statement.values(consumed_by=flag_id))

    async def consumed_by(self, flag_id: int, limit: int) -> tuple[SampleRecord, ...]:
        """Return the newest `limit` samples that a flag consumed, oldest first."""
        statement = select(agreements).where(agreements.c.consumed_by == flag_id)
        newest = await self._all(statement.order_by(agreements.c.round_id.desc()).limit(limit))
        return tuple(_record(row) for row in reversed(newest))


def _window_rows(windows: Mapping[tuple[str, str], Samples]) -> list[dict[str, Any]]:
    return [{"hotkey": hotkey, "skill_type": kind, "samples": found} for (hotkey, kind), found in windows.items()]


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
