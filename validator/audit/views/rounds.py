"""Rounds: who got what and why, what came back, and what it was worth."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from validator.audit.views.flags import FlagView, flag_view
from validator.protocol.limits import MAX_ROUND_ID
from validator.protocol.reasons import Reason, meaning_of
from validator.protocol.round import (
    GroupOutcome,
    GroupPlan,
    Mode,
    ReputationEvent,
    ReputationKind,
)
from validator.protocol.skill_types import SkillType
from validator.store import Transaction
from validator.store.dispatch import ScoredDispatch
from validator.store.repositories.rounds import StallRecord
from validator.store.rows import GroupRecord, RoundRecord, TaskRecord, TaskState


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
