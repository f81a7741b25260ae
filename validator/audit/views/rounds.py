"""Rounds: who got what and why, what came back, and what it was worth."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from validator.audit.views.flags import FlagView, flag_view
from validator.protocol.answer import Role
from validator.protocol.limits import MAX_ROUND_ID
from validator.protocol.reasons import Reason, gate_of, meaning_of
from validator.protocol.round import (
    Components,
    Emission,
    GroupOutcome,
    GroupPlan,
    MemberOutcome,
    Mode,
    ReputationEvent,
    ReputationKind,
    WorkflowOutcome,
)
from validator.protocol.skill_types import SkillType
from validator.store import Transaction
from validator.store.records import DispatchRecord, DispatchState, GroupRecord, RoundRecord, TaskRecord, TaskState

Dispatched = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ExclusionView:
    """A candidate that was not selected (SPEC 8.1)."""

    hotkey: str
    reason: str
    meaning: str | None


@dataclass(frozen=True, slots=True)
class DispatchView:
    """One dispatch, with its score once the round is settled.

    Attributes:
        uid: in the round's metagraph.
        rank: place in the group: primaries by rank, then auditors by draw.
        reason: of the gates, or of scoring where that came to something else (D-7, a deferred quality); None while it
            is not judged.
        seconds: first byte sent to last byte received.
        quality: Q (SPEC 6).
        consensus: SPEC 4; 1 where fewer than three answers were valid, None for a failed gate.
        emission: what entered the score window: 0 for a failed gate, None where nothing did (D-7).
        factors: everything that made the emission.
        workflow: what the run of a plan was measured at and is worth; None for assessments, and while it is deferred.
    """

    hotkey: str
    uid: int | None
    role: Role
    rank: int
    state: DispatchState
    reason: str | None
    meaning: str | None
    gate: int | None
    detail: str | None
    sent_at: datetime | None
    received_at: datetime | None
    seconds: float | None
    http_status: int | None
    body_bytes: int | None
    sssa_sha256: str | None
    quality: float | None
    consensus: float | None
    emission: float | None
    agreement_with_primaries: float | None
    agreement_with_auditors: float | None
    components: Components | None
    factors: Emission | None
    workflow: WorkflowOutcome | None


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
    reason: str | None
    meaning: str | None
    primaries: tuple[str, ...]
    auditors: tuple[str, ...]
    promoted: tuple[str, ...]
    demoted: tuple[str, ...]
    excluded: tuple[ExclusionView, ...]
    outcome: GroupOutcome | None
    dispatches: tuple[DispatchView, ...]


@dataclass(frozen=True, slots=True)
class ReputationView:
    """One step of one reputation; `cause` is a task id, a rerun id or empty."""

    hotkey: str
    skill_type: SkillType
    kind: ReputationKind
    cause: str
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class RoundView:
    """A whole round. `meaning` explains the round's reason."""

    round: RoundRecord
    meaning: str | None
    tasks: tuple[TaskView, ...]
    flags: tuple[FlagView, ...]
    reputation: tuple[ReputationView, ...]


async def round_list(tx: Transaction, limit: int, before: int | None = None) -> tuple[RoundRecord, ...]:
    """Return at most `limit` rounds, newest first; with `before` only those with a smaller id."""
    return await tx.rounds.listing(limit, None if before is None else min(before, MAX_ROUND_ID))


async def round_view(tx: Transaction, round_id: int) -> RoundView | None:
    """Return a round with everything that is stored of it, None if there is no such round."""
    stored = await tx.rounds.get(round_id) if 0 <= round_id <= MAX_ROUND_ID else None
    if stored is None:
        return None
    uids = {neuron.hotkey: neuron.uid for neuron in stored.input.snapshot.neurons} if stored.input else {}
    scores = {(score.task_id, score.hotkey): score for score in await tx.scores.of_round(round_id)}
    dispatches: dict[str, list[DispatchView]] = defaultdict(list)
    for record in await tx.dispatches.of_round(round_id):
        dispatches[record.key.task_id].append(_dispatch(record, uids, scores))
    groups = {group.plan.task_id: group for group in await tx.groups.of_round(round_id)}
    flags = await tx.flags.listing(include_cleared=True)
    return RoundView(
        round=stored.record,
        meaning=meaning_of(stored.record.reason),
        tasks=tuple(
            _task(task, groups[task.task_id], tuple(dispatches[task.task_id]))
            for task in await tx.tasks.of_round(round_id)
        ),
        flags=tuple(flag_view(flag) for flag in flags if flag.round_id == round_id),
        reputation=tuple(_reputation(record.event) for record in await tx.reputations.of_round(round_id)),
    )


def _dispatch(
    record: DispatchRecord, uids: Mapping[str, int], scores: Mapping[Dispatched, MemberOutcome]
) -> DispatchView:
    score = scores.get((record.key.task_id, record.key.hotkey))
    reason = _reason(record, score)
    emission = score.emission if score else None
    compared = score is not None and (score.components is not None or emission is not None)
    return DispatchView(
        hotkey=record.key.hotkey,
        uid=uids.get(record.key.hotkey),
        role=record.role,
        rank=record.rank,
        state=record.state,
        reason=reason,
        meaning=meaning_of(reason),
        gate=gate_of(reason),
        detail=record.detail,
        sent_at=record.sent_at,
        received_at=record.received_at,
        seconds=record.seconds,
        http_status=record.http_status,
        body_bytes=record.body_bytes,
        sssa_sha256=record.signed_sha256,
        quality=emission.quality if emission else None,
        consensus=score.consensus if score and compared else None,
        emission=score.window_entry if score else None,
        agreement_with_primaries=score.agreement_with_primaries if score else None,
        agreement_with_auditors=score.agreement_with_auditors if score else None,
        components=score.components if score else None,
        factors=emission,
        workflow=score.workflow if score else None,
    )


def _reason(record: DispatchRecord, score: MemberOutcome | None) -> str | None:
    """Return the gates' reason, or the score's where the answer passed and yet enters nothing."""
    if score is not None and score.reason in (Reason.VOID_NO_VERDICT, Reason.WORKFLOW_DEFERRED):
        return score.reason
    return record.reason


def _task(record: TaskRecord, group: GroupRecord, dispatches: tuple[DispatchView, ...]) -> TaskView:
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
