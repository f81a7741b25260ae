"""What a round did to a miner's standing: reputation and collusion, per type (SPEC 9, 10)."""

from collections.abc import Sequence

from validator.protocol.reasons import Reason, meaning_of
from validator.protocol.round import (
    AgreementPair,
    AgreementSample,
    AssessedMember,
    FlagRaised,
    MinerState,
    ReputationEvent,
    ReputationKind,
    RoundInput,
    RoundOutcome,
)
from validator.protocol.skill_types import SkillType
from validator.protocol.sssa import Document
from validator.scoring import Version


class Step(Document, frozen=True):
    """One reputation event; `cause` is a task id or empty."""

    kind: ReputationKind
    cause: str
    before: float
    after: float


class ReputationChange(Document, frozen=True):
    """The reputation for one type over the round."""

    skill_type: SkillType
    before: float
    after: float
    steps: tuple[Step, ...]


class TaskAgreement(Document, frozen=True):
    """What one task gave towards the round's sample."""

    task_id: str
    with_primaries: float | None
    with_auditors: float | None
    auditor_agreement: float | None
    reason: Reason
    meaning: str | None


class Collusion(Document, frozen=True):
    """The round's sample for one type and the window it came into.

    Attributes:
        with_primaries, with_auditors: of the round, None without a counterpart.
        counted: whether it entered the window; `reason` says why not.
        tasks: what each task gave.
        window_before: counted samples since the last flag, before the round.
        samples: counted samples with the round's, at most as many as count; the means are over them, None without any.
        flag: the flag that the round raised.
    """

    skill_type: SkillType
    with_primaries: float | None
    with_auditors: float | None
    counted: bool
    reason: Reason
    meaning: str | None
    tasks: tuple[TaskAgreement, ...]
    window_before: int
    samples: int
    mean_with_primaries: float | None
    mean_with_auditors: float | None
    flag: FlagRaised | None


def explain_reputation(
    version: Version, types: Sequence[SkillType], hotkey: str, state: MinerState | None, outcome: RoundOutcome
) -> tuple[ReputationChange, ...]:
    """Return the changes for `types` and for every other type that had an event, in the order of SPEC 1."""
    events = [event for event in outcome.reputation if event.hotkey == hotkey]
    touched = {*types, *(event.skill_type for event in events)}
    known, start = state.reputations if state else {}, version.rules.reputation.start
    return tuple(
        _change(skill_type, known.get(skill_type, start), [event for event in events if event.skill_type == skill_type])
        for skill_type in SkillType
        if skill_type in touched
    )


def _change(skill_type: SkillType, standing: float, events: Sequence[ReputationEvent]) -> ReputationChange:
    return ReputationChange(
        skill_type,
        before=events[0].before if events else standing,
        after=events[-1].after if events else standing,
        steps=tuple(Step(event.kind, event.cause, event.before, event.after) for event in events),
    )


def explain_collusion(
    version: Version, frozen: RoundInput, hotkey: str, state: MinerState | None, outcome: RoundOutcome
) -> tuple[Collusion, ...]:
    """Return the round's samples of the miner, in the order of SPEC 1."""
    windows = state.agreements if state else {}
    flags = {flag.skill_type: flag for flag in outcome.flags if flag.hotkey == hotkey}
    samples = {sample.skill_type: sample for sample in outcome.samples if sample.hotkey == hotkey}
    tasks = _of_tasks(version, frozen, hotkey, outcome)
    return tuple(
        _collusion(version, samples[kind], windows.get(kind, ()), tasks.get(kind, ()), flags.get(kind))
        for kind in SkillType
        if kind in samples
    )


def _of_tasks(
    version: Version, frozen: RoundInput, hotkey: str, outcome: RoundOutcome
) -> dict[SkillType, tuple[TaskAgreement, ...]]:
    types = {task.task_id: task.skill_type for task in frozen.tasks}
    groups = {group.task_id: group for group in outcome.groups}
    found: dict[SkillType, tuple[TaskAgreement, ...]] = {}
    for member in outcome.members:
        if member.hotkey != hotkey or not isinstance(member, AssessedMember):
            continue
        between = groups[member.task_id].auditor_agreement
        sample = version.task_sample(member, between)
        line = TaskAgreement(
            member.task_id,
            sample.with_primaries,
            sample.with_auditors,
            between,
            sample.reason,
            sample.reason.meaning,
        )
        kind = types[member.task_id]
        found[kind] = (*found.get(kind, ()), line)
    return found


def _collusion(
    version: Version,
    sample: AgreementSample,
    window: Sequence[AgreementPair],
    tasks: tuple[TaskAgreement, ...],
    flag: FlagRaised | None,
) -> Collusion:
    samples, means = len(window), version.window_means(window) if window else None
    if sample.counted and sample.with_primaries is not None and sample.with_auditors is not None:
        step = version.add_sample(window, AgreementPair(sample.with_primaries, sample.with_auditors))
        samples, means = step.samples, step.means
    return Collusion(
        skill_type=sample.skill_type,
        with_primaries=sample.with_primaries,
        with_auditors=sample.with_auditors,
        counted=sample.counted,
        reason=sample.reason,
        meaning=meaning_of(sample.reason),
        tasks=tasks,
        window_before=len(window),
        samples=samples,
        mean_with_primaries=means[0] if means else None,
        mean_with_auditors=means[1] if means else None,
        flag=flag,
    )
