"""Collusion flags with the agreements that led to them (SPEC 9)."""

from dataclasses import dataclass
from datetime import datetime

from validator.protocol.reasons import Reason, meaning_of
from validator.protocol.skill_types import SkillType
from validator.store import Transaction
from validator.store.rows import FlagRecord, SampleRecord

MAX_FLAG_ID = 2**31 - 1  # what the column holds on every database


@dataclass(frozen=True, slots=True)
class FlagView:
    """A flag. `standing` until the operator clears it; then `cleared_at` and `cleared_reason` are set."""

    id: int
    hotkey: str
    skill_type: SkillType
    round_id: int
    mean_with_primaries: float
    mean_with_auditors: float
    samples: int
    raised_at: datetime
    standing: bool
    cleared_at: datetime | None
    cleared_reason: str | None


@dataclass(frozen=True, slots=True)
class AgreementView:
    """One round's agreements of the flagged miner with its groups."""

    round_id: int
    with_primaries: float | None
    with_auditors: float | None
    counted: bool
    reason: Reason
    meaning: str | None


@dataclass(frozen=True, slots=True)
class FlagDetailView:
    """A flag with the agreements it consumed, oldest first."""

    flag: FlagView
    agreements: tuple[AgreementView, ...]


async def flag_list(tx: Transaction, *, include_cleared: bool = False) -> tuple[FlagView, ...]:
    """Return the standing flags, or all of them, oldest first."""
    return tuple(flag_view(record) for record in await tx.flags.listing(include_cleared=include_cleared))


async def flag_details(tx: Transaction, which: str) -> tuple[FlagDetailView, ...]:
    """Return the flag with this id (a decimal), or every flag of this hotkey; empty where there is none."""
    wanted = int(which) if which.isascii() and which.isdecimal() and len(which) < len(str(MAX_FLAG_ID)) else which
    return tuple(
        FlagDetailView(flag_view(detail.record), tuple(_agreement(sample) for sample in detail.samples))
        for detail in await tx.flags.get(wanted)
    )


def flag_view(record: FlagRecord) -> FlagView:
    """Return one flag as shown."""
    return FlagView(
        id=record.id,
        hotkey=record.flag.hotkey,
        skill_type=record.flag.skill_type,
        round_id=record.round_id,
        mean_with_primaries=record.flag.mean_with_primaries,
        mean_with_auditors=record.flag.mean_with_auditors,
        samples=record.flag.samples,
        raised_at=record.raised_at,
        standing=record.cleared_at is None,
        cleared_at=record.cleared_at,
        cleared_reason=record.cleared_reason,
    )


def _agreement(record: SampleRecord) -> AgreementView:
    sample = record.sample
    return AgreementView(
        round_id=record.round_id,
        with_primaries=sample.with_primaries,
        with_auditors=sample.with_auditors,
        counted=sample.counted,
        reason=sample.reason,
        meaning=meaning_of(sample.reason),
    )
