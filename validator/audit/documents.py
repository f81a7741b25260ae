"""JSON documents of rounds and explanations, for `--json`, API and pages; `round_document` alone reads the store."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Final

import msgspec

from sssa.kinds.task_explanation import Gates, TaskExplanation
from sssa.protocol.answer import Role
from sssa.protocol.dispatch_record import DispatchState, ScoredDispatch, TaskState
from sssa.protocol.limits import MAX_ROUND_ID
from sssa.protocol.reasons import Reason, gate_of, meaning_of
from sssa.protocol.round import (
    AssessedMember,
    Components,
    Emission,
    GroupOutcome,
    Mode,
    RanMember,
    ReputationEvent,
    WorkflowOutcome,
)
from sssa.protocol.skill_types import SkillType
from sssa.protocol.sssa import Document
from sssa.protocol.waiting_work import Execution, WaitingWork
from validator.audit.explain.effects import Collusion, ReputationChange, TypeWindow, WeightEffect
from validator.audit.explain.round_explanation import MinerFacts, NotACandidate, RoundExplanation, RoundFacts
from validator.store import Transaction
from validator.store.repositories.rounds import StallRecord
from validator.store.rows import FlagRecord, GroupRecord, RoundRecord, TaskRecord

_OF_THE_MINER: Final = frozenset(
    {
        *("kind", "task_id", "position", "skill_type", "slot", "state", "reason", "meaning", "selection", "gates"),
        *("bundle_sha256", "goal_sha256", "goal", "workflow_type", "run", "measured", "worth"),
        *("emission", "entry", "entry_reason", "entry_meaning", "as_stored"),
    }
)
"""The keys of an explained task that its miner may see while the task can come again."""


class ExclusionDocument(Document, frozen=True):
    """A candidate that selection left out, and why."""

    hotkey: str
    reason: Reason
    meaning: str | None


class DispatchDocument(Document, frozen=True):
    """A dispatch with its result. `emission` is the entry in the score window; `factors` are those that made it."""

    hotkey: str
    uid: int | None
    role: Role
    rank: int
    state: DispatchState
    reason: Reason | None
    meaning: str | None
    gate: int | None
    detail: str | None
    sent_at: datetime | None
    received_at: datetime | None
    seconds: float | None
    stalled: float | None
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


class TaskDocument(Document, frozen=True):
    """A task with its group; `outcome` is None until the round is settled."""

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
    excluded: tuple[ExclusionDocument, ...]
    outcome: GroupOutcome | None
    dispatches: tuple[DispatchDocument, ...]


class RoundDocument(Document, frozen=True):
    """A whole round."""

    round: RoundRecord
    meaning: str | None
    tasks: tuple[TaskDocument, ...]
    flags: tuple[FlagRecord, ...]
    reputation: tuple[ReputationEvent, ...]
    stalls: tuple[StallRecord, ...]


async def round_document(tx: Transaction, round_id: int) -> RoundDocument | None:
    """Return a round with everything that is stored of it, None if there is no such round."""
    stored = await tx.rounds.get(round_id) if 0 <= round_id <= MAX_ROUND_ID else None
    if stored is None:
        return None
    uids = {one.hotkey: one.uid for one in stored.input.snapshot.neurons} if stored.input else {}
    dispatches: dict[str, list[DispatchDocument]] = defaultdict(list)
    for one in await tx.dispatches.scored(round_id):
        dispatches[one.task_id].append(_dispatch(one, uids.get(one.hotkey)))
    groups = {group.plan.task_id: group for group in await tx.groups.of_round(round_id)}
    tasks = await tx.tasks.of_round(round_id)
    return RoundDocument(
        round=stored.record,
        meaning=meaning_of(stored.record.reason),
        tasks=tuple(_task(task, groups[task.task_id], tuple(dispatches[task.task_id])) for task in tasks),
        flags=await tx.flags.of_round(round_id),
        reputation=() if stored.outcome is None else stored.outcome.reputation,
        stalls=await tx.stalls.of_round(round_id),
    )


def _task(task: TaskRecord, group: GroupRecord, dispatches: tuple[DispatchDocument, ...]) -> TaskDocument:
    same = "task_id position skill_type slot source_sha256 bundle_sha256 provenance mode state reason"
    return TaskDocument(
        **_picked(task, same),
        **_picked(group.plan, "primaries auditors promoted demoted"),
        meaning=meaning_of(task.reason),
        excluded=tuple(ExclusionDocument(one, why, meaning_of(why)) for one, why in group.plan.excluded.items()),
        outcome=group.outcome,
        dispatches=dispatches,
    )


def _dispatch(one: ScoredDispatch, uid: int | None) -> DispatchDocument:
    assessed = one.score if isinstance(one.score, AssessedMember) else None
    ran = one.score if isinstance(one.score, RanMember) else None
    return DispatchDocument(
        **_picked(one, "hotkey role rank state detail quality consensus"),
        **_picked(one, "sent_at received_at seconds stalled http_status body_bytes"),
        uid=uid,
        reason=one.end,
        meaning=meaning_of(one.end),
        gate=gate_of(one.end),
        sssa_sha256=one.signed_sha256,
        emission=one.window_entry,
        agreement_with_primaries=assessed.agreement_with_primaries if assessed else None,
        agreement_with_auditors=assessed.agreement_with_auditors if assessed else None,
        components=assessed.components if assessed else None,
        factors=assessed.emission if assessed else None,
        workflow=ran.workflow if ran else None,
    )


def _picked(one: object, names: str) -> dict[str, Any]:
    """Return attributes of an object by their names, which are separated by spaces."""
    return {name: getattr(one, name) for name in names.split()}


class ExplanationDocument(Document, frozen=True):
    """Everything that one round did to one miner; `tasks` have the fields of their kind (docs/operators/miners.md)."""

    round: RoundFacts
    miner: MinerFacts
    tasks: tuple[dict[str, Any], ...]
    not_candidate: tuple[NotACandidate, ...]
    reputation: tuple[ReputationChange, ...]
    collusion: tuple[Collusion, ...]
    windows: tuple[TypeWindow, ...]
    weights: tuple[WeightEffect, ...]
    executions: tuple[dict[str, Any], ...] = ()


def explanation_document(explained: RoundExplanation) -> ExplanationDocument:
    """Return an explained round as a document."""
    fields = msgspec.structs.asdict(explained)
    tasks, executions = map(_explained_task, explained.tasks), map(execution_document, explained.executions)
    return ExplanationDocument(**fields | {"tasks": tuple(tasks), "executions": tuple(executions)})


def _explained_task(task: TaskExplanation) -> dict[str, Any]:
    shown: dict[str, Any] = msgspec.to_builtins(task, builtin_types=(datetime,), str_keys=True)
    return {**shown, "gates": None if task.gates is None else _gates(task.gates)}


def _gates(gates: Gates) -> dict[str, Any]:
    dispatch = gates.dispatch
    return {
        **_picked(dispatch, "role state reason"),
        "meaning": meaning_of(dispatch.reason),
        **_picked(dispatch, "detail sent_at received_at seconds stalled"),
        **_picked(gates.window, "t_min deadline"),
        "part": gates.part,
        **_picked(dispatch, "http_status body_bytes"),
        "sssa_sha256": dispatch.signed_sha256,
        "gates": tuple(one._asdict() for one in gates.gates),
        "semantic_subset": gates.semantic_subset,
    }


def execution_document(one: Execution) -> dict[str, Any]:
    """Return an execution as a document."""
    return {
        "execution_id": one.work_id,
        **_picked(one, "round_id task_id skill_type hotkeys"),
        **tries_document(one),
        "report": one.report,
        "results": tuple(result._asdict() for result in one.results),
        "counted_in": one.entered_in,
    }


def tries_document(one: WaitingWork) -> dict[str, Any]:
    """Return the part of the document that all waiting work has."""
    times = _picked(one, "state attempts queued_at due_at started_at ended_at reason")
    return {**times, "meaning": meaning_of(one.reason), "detail": one.detail}


def for_the_miner(explained: ExplanationDocument, shown: Collection[str]) -> ExplanationDocument:
    """Return an explanation without the parts that help its miner when a task is dispatched again.

    Hidden are truths, whether a task was planted, and what others answered; not of the tasks in `shown`, whose truths
    are public (`RetiredTasks.of_round`). Results of execution are hidden too: their report names the mark.
    """
    tasks = (task if task["task_id"] in shown else _without_truth(task) for task in explained.tasks)
    return msgspec.structs.replace(explained, tasks=tuple(tasks), executions=())


def _without_truth(task: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value if key in _OF_THE_MINER else None for key, value in task.items()}
