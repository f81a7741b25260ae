"""Scores of one assessment's group: consensus, quality and emission of every member (SPEC 4, 6, 7)."""

from collections.abc import Sequence

from sssa.protocol.reasons import Reason
from sssa.protocol.results import Rejection, Submission
from sssa.protocol.round import AssessedMember, AssessmentTask, FailedMember, GroupOutcome, GroupPlan
from sssa.protocol.task import Truth
from sssa.scoring.scoring_types import (
    AnswerFacts,
    Claims,
    Comparison,
    Member,
    MemberConsensus,
    ScoredTask,
    Standard,
)
from sssa.scoring.v1.claims import claims_of, majority_threshold
from sssa.scoring.v1.consensus import auditor_agreement, score_members
from sssa.scoring.v1.emission import answer_emission
from sssa.scoring.v1.keys import FindingKeys
from sssa.scoring.v1.rules import Ruled


def compare_answers(
    version: Ruled, task: AssessmentTask, plan: GroupPlan, submissions: Sequence[Submission], keys: FindingKeys
) -> Comparison:
    """Return how the task's valid answers compare; `submissions` in any order (SPEC 4, D-7)."""
    passed = {s.hotkey: s for s in submissions}
    valid = [
        Member(hotkey, role, claims_of(passed[hotkey].sssa, keys)) for hotkey, role in plan.members if hotkey in passed
    ]
    group, scores = score_members(version, valid)
    return Comparison(tuple(valid), group, scores, _standard(task, group))


def score_task(  # noqa: PLR0913, PLR0917 - a task of a round and what came back
    version: Ruled,
    task: AssessmentTask,
    plan: GroupPlan,
    epoch: int,
    submissions: Sequence[Submission],
    rejections: Sequence[Rejection],
    keys: FindingKeys,
) -> ScoredTask:
    """Return the outcome of one task.

    Args:
        version: the round's.
        task: the task.
        plan: its group; a member with neither submission nor rejection must not exist.
        epoch: the round's epoch.
        submissions: valid answers of this task, any order.
        rejections: failed dispatches of this task, any order.
        keys: of the round's findings.
    """
    passed = {s.hotkey: s for s in submissions}
    failed = {r.hotkey: r for r in rejections}
    valid, group, scores, standard = compare_answers(version, task, plan, submissions, keys)
    consensus = {member.hotkey: score for member, score in zip(valid, scores, strict=True)}
    members = tuple(
        _passed(version, passed[hotkey], consensus[hotkey], standard, task, epoch)
        if hotkey in passed
        else failed_member(failed[hotkey])
        for hotkey, _ in plan.members
    )
    return ScoredTask(group_outcome(version, task, plan, valid, group, standard), members)


def _standard(task: AssessmentTask, group: Claims | None) -> Standard | None:
    if task.truth is not None and task.provenance != "none":
        return Standard(task.truth, task.provenance)
    if group is None:
        return None
    return Standard(Truth(group.verdict, None, None, None, None, None, None, None), "consensus")


def _passed(  # noqa: PLR0913, PLR0917 - an answer and all that it is measured by
    version: Ruled,
    submission: Submission,
    scores: MemberConsensus,
    standard: Standard | None,
    task: AssessmentTask,
    epoch: int,
) -> AssessedMember:
    facts = answer_facts(submission, scores.consensus, standard, task, epoch) if standard else None
    reward = answer_emission(version, facts) if facts else None
    early = submission.seconds < task.windows.of(submission.role).t_min
    reason = Reason.VOID_NO_VERDICT if reward is None else Reason.ACCEPTED_EARLY if early else Reason.ACCEPTED
    return AssessedMember(
        task_id=task.task_id,
        hotkey=submission.hotkey,
        role=submission.role,
        reason=reason,
        components=scores.components,
        consensus=scores.consensus,
        agreement_with_primaries=scores.with_primaries,
        agreement_with_auditors=scores.with_auditors,
        emission=reward,
        window_entry=reward.emission if reward else None,
    )


def failed_member(rejection: Rejection) -> FailedMember:
    """Return the outcome of a dispatch that failed a gate."""
    return FailedMember(
        task_id=rejection.task_id,
        hotkey=rejection.hotkey,
        role=rejection.role,
        reason=rejection.reason,
        consensus=0.0,
        window_entry=0.0,  # not answering is no free option (D-6)
    )


def answer_facts(
    submission: Submission, consensus: float, standard: Standard, task: AssessmentTask, epoch: int
) -> AnswerFacts:
    """Return everything that decides an answer's quality and emission (SPEC 6, 7)."""
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


def group_outcome(  # noqa: PLR0913, PLR0917 - the parts of a group's outcome
    version: Ruled,
    task: AssessmentTask,
    plan: GroupPlan,
    valid: Sequence[Member],
    group: Claims | None,
    standard: Standard | None,
) -> GroupOutcome:
    """Return the outcome of a task's group (SPEC 4)."""
    skipped = plan.mode == "skip"
    return GroupOutcome(
        task_id=task.task_id,
        reason=Reason.SKIPPED_NO_CANDIDATES if skipped else Reason.SETTLED,
        mode=plan.mode,
        n_valid=len(valid),
        threshold=majority_threshold(len(valid)),
        verdict=group.verdict if group else None,
        mean_risk=group.risk if group else None,
        finding_keys=tuple(sorted(group.findings)) if group else (),
        provenance=standard.provenance if standard else None,
        scored_verdict=standard.truth.verdict if standard else None,
        auditor_agreement=auditor_agreement(version, valid),
    )
