"""Rounds and collusion flags: who got what and why, what came back, and what it was worth."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from validator.protocol.limits import MAX_ROUND_ID
from validator.protocol.reasons import Reason, meaning_of
from validator.protocol.round import GroupOutcome, GroupPlan, Mode, ReputationEvent, ReputationKind
from validator.protocol.skill_types import SkillType
from validator.store import Transaction
from validator.store.dispatch import ScoredDispatch
from validator.store.repositories.rounds import StallRecord
from validator.store.rows import FlagRecord, GroupRecord, RoundRecord, SampleRecord, TaskRecord, TaskState

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


@dataclass(frozen=True, slots=True)
class ExclusionView:
    """A candidate that was not selected (SPEC 8.1)."""

    hotkey: str
    reason: Reason
    meaning: str | None


@dataclass(frozen=True, slots=True)
class TaskView:
    """One task with its group; `outcome` is None until the round is settled."""

    task_id: str
    position: int
    skill_type: SkillType
    slot: int
    source_sha256: str
    bundle_sha256: str
    provenance: str
    mode: Mode
    state: TaskState
    reason: Reason | None
    meaning: str | None
    primaries: tuple[str, ...]
    auditors: tuple[str, ...]
    promoted: tuple[str, ...]
    demoted: tuple[str, ...]
    excluded: tuple[ExclusionView, ...]
    outcome: GroupOutcome | None
    dispatches: tuple[ScoredDispatch, ...]


@dataclass(frozen=True, slots=True)
class ReputationView:
    """One step of one reputation; `cause` is a task id or empty."""

    hotkey: str
    skill_type: SkillType
    kind: ReputationKind
    cause: str
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class RoundView:
    """A whole round. `meaning` explains the round's reason; `uids` are those of its metagraph, by hotkey.

    `stalls` are when the validator stood still meanwhile (D-26).
    """

    round: RoundRecord
    meaning: str | None
    tasks: tuple[TaskView, ...]
    flags: tuple[FlagView, ...]
    reputation: tuple[ReputationView, ...]
    stalls: tuple[StallRecord, ...]
    uids: Mapping[str, int]


async def round_list(tx: Transaction, limit: int, before: int | None = None) -> tuple[RoundRecord, ...]:
    """Return at most `limit` rounds, newest first; with `before` only those with a smaller id."""
    return await tx.rounds.listing(limit, None if before is None else min(before, MAX_ROUND_ID))


async def round_view(tx: Transaction, round_id: int) -> RoundView | None:
    """Return a round with everything that is stored of it, None if there is no such round."""
    stored = await tx.rounds.get(round_id) if 0 <= round_id <= MAX_ROUND_ID else None
    if stored is None:
        return None
    uids = {neuron.hotkey: neuron.uid for neuron in stored.input.snapshot.neurons} if stored.input else {}
    dispatches: dict[str, list[ScoredDispatch]] = defaultdict(list)
    for dispatch in await tx.dispatches.scored(round_id):
        dispatches[dispatch.key.task_id].append(dispatch)
    groups = {group.plan.task_id: group for group in await tx.groups.of_round(round_id)}
    outcome = stored.outcome
    return RoundView(
        round=stored.record,
        meaning=meaning_of(stored.record.reason),
        tasks=tuple(
            _task(task, groups[task.task_id], tuple(dispatches[task.task_id]))
            for task in await tx.tasks.of_round(round_id)
        ),
        flags=tuple(flag_view(flag) for flag in await tx.flags.of_round(round_id)),
        reputation=() if outcome is None else tuple(map(_reputation, outcome.reputation)),
        stalls=await tx.stalls.of_round(round_id),
        uids=uids,
    )


def _task(record: TaskRecord, group: GroupRecord, dispatches: tuple[ScoredDispatch, ...]) -> TaskView:
    plan: GroupPlan = group.plan
    return TaskView(
        task_id=record.task_id,
        position=record.position,
        skill_type=record.skill_type,
        slot=record.slot,
        source_sha256=record.source_sha256,
        bundle_sha256=record.bundle_sha256,
        provenance=record.provenance,
        mode=record.mode,
        state=record.state,
        reason=record.reason,
        meaning=meaning_of(record.reason),
        primaries=plan.primaries,
        auditors=plan.auditors,
        promoted=plan.promoted,
        demoted=plan.demoted,
        excluded=tuple(ExclusionView(hotkey, code, meaning_of(code)) for hotkey, code in plan.excluded.items()),
        outcome=group.outcome,
        dispatches=dispatches,
    )


def _reputation(event: ReputationEvent) -> ReputationView:
    return ReputationView(event.hotkey, event.skill_type, event.kind, event.cause, event.before, event.after)
