"""One task's group: consensus, quality and emission of every member (SPEC 4, 6, 7)."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from validator.protocol.reasons import Reason
from validator.protocol.round import (
    GroupOutcome,
    GroupPlan,
    MemberOutcome,
    Rejection,
    RoundTask,
    Submission,
)
from validator.protocol.task import Truth
from validator.scoring.claims import Claims, claims_of, majority_threshold
from validator.scoring.consensus import Member, MemberConsensus, auditor_agreement, score_members
from validator.scoring.emission import emission
from validator.scoring.quality import AnswerFacts

Provenance = Literal["curated", "canary", "consensus"]


class ScoredTask(NamedTuple):
    """A task's outcome, members in the order of the plan."""

    group: GroupOutcome
    members: tuple[MemberOutcome, ...]


class Standard(NamedTuple):
    """What the answers are scored against: the task's truth, or the group's verdict alone (D-7)."""

    truth: Truth
    provenance: Provenance


class Comparison(NamedTuple):
    """The valid answers of a task side by side.

    Attributes:
        members: in the order of the plan.
        group: what at least T of them claim; None below 3.
        scores: of the members, in their order.
        standard: what quality is measured against; None where there is no verdict at all (D-7).
    """

    members: tuple[Member, ...]
    group: Claims | None
    scores: tuple[MemberConsensus, ...]
    standard: Standard | None


def compare_answers(task: RoundTask, plan: GroupPlan, submissions: Sequence[Submission]) -> Comparison:
    """Return how the task's valid answers compare; `submissions` in any order (SPEC 4, D-7)."""
    passed = {s.hotkey: s for s in submissions}
    valid = [Member(hotkey, role, claims_of(passed[hotkey].sssa)) for hotkey, role in plan.members if hotkey in passed]
    group, scores = score_members(valid)
    return Comparison(tuple(valid), group, scores, _standard(task, group))


def score_task(
    task: RoundTask, plan: GroupPlan, epoch: int, submissions: Sequence[Submission], rejections: Sequence[Rejection]
) -> ScoredTask:
    """Return what one task comes to.

    Args:
        task: the task.
        plan: its group; a member with neither submission nor rejection must not exist.
        epoch: the round's epoch.
        submissions: valid answers of this task, any order.
        rejections: failed dispatches of this task, any order.
    """
    passed = {s.hotkey: s for s in submissions}
    failed = {r.hotkey: r for r in rejections}
    valid, group, scores, standard = compare_answers(task, plan, submissions)
    consensus = {member.hotkey: score for member, score in zip(valid, scores, strict=True)}
    members = tuple(
        _passed(passed[hotkey], consensus[hotkey], standard, task, epoch)
        if hotkey in passed
        else failed_member(failed[hotkey])
        for hotkey, _ in plan.members
    )
    return ScoredTask(_group_outcome(task, plan, valid, group, standard), members)


def _standard(task: RoundTask, group: Claims | None) -> Standard | None:
    if task.truth is not None and task.provenance != "none":
        return Standard(task.truth, task.provenance)
    if group is None:
        return None
    return Standard(Truth(group.verdict, None, None, None, None, None, None, None), "consensus")


def _passed(
    submission: Submission, scores: MemberConsensus, standard: Standard | None, task: RoundTask, epoch: int
) -> MemberOutcome:
    reward = emission(answer_facts(submission, scores.consensus, standard, task, epoch)) if standard else None
    early = submission.seconds < task.windows.of(submission.role)[0]
    reason = Reason.VOID_NO_VERDICT if reward is None else Reason.ACCEPTED_EARLY if early else Reason.ACCEPTED
    return MemberOutcome(
        task_id=task.task_id,
        hotkey=submission.hotkey,
        role=submission.role,
        reason=str(reason),
        components=scores.components,
        consensus=scores.consensus,
        agreement_with_primaries=scores.with_primaries,
        agreement_with_auditors=scores.with_auditors,
        emission=reward,
        window_entry=reward.emission if reward else None,
    )


def failed_member(rejection: Rejection) -> MemberOutcome:
    """Return what a dispatch comes to that failed a gate."""
    return MemberOutcome(
        task_id=rejection.task_id,
        hotkey=rejection.hotkey,
        role=rejection.role,
        reason=rejection.reason,
        components=None,
        consensus=0.0,
        agreement_with_primaries=None,
        agreement_with_auditors=None,
        emission=None,
        window_entry=0.0,  # not answering is no free option (D-6)
    )


def answer_facts(
    submission: Submission, consensus: float, standard: Standard, task: RoundTask, epoch: int
) -> AnswerFacts:
    """Return everything about an answer that decides its quality and emission (SPEC 6, 7)."""
    sssa = submission.sssa
    return AnswerFacts(
        skill_type=task.skill_type,
        role=submission.role,
        window=task.windows.of(submission.role),
        t=submission.seconds,
        epoch=epoch,
        verdict=sssa.analysis.verdict,
        risk_score=sssa.analysis.risk_score,
        findings=sssa.analysis.findings,
        rules=sssa.policy.rules,
        manifest_sha256=sssa.evidence.manifest_sha256,
        shell_commands=submission.shell_commands,
        truth=standard.truth,
        provenance=standard.provenance,
        checks=submission.checks,
        semantic_subset=submission.semantic_subset,
        consensus=consensus,
    )


def _group_outcome(
    task: RoundTask, plan: GroupPlan, valid: Sequence[Member], group: Claims | None, standard: Standard | None
) -> GroupOutcome:
    skipped = plan.mode == "skip"
    return GroupOutcome(
        task_id=task.task_id,
        reason=str(Reason.SKIPPED_NO_CANDIDATES if skipped else Reason.SETTLED),
        mode=plan.mode,
        n_valid=len(valid),
        threshold=majority_threshold(len(valid)),
        verdict=group.verdict if group else None,
        mean_risk=group.risk if group else None,
        finding_keys=tuple(sorted(group.findings)) if group else (),
        provenance=standard.provenance if standard else None,
        scored_verdict=standard.truth.verdict if standard else None,
        auditor_agreement=auditor_agreement(valid),
    )
