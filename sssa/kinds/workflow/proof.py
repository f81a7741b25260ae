"""The consensus proof of a workflow task's group: measurements, since plans are not compared (SPEC 12, 14)."""

from datetime import UTC, datetime
from typing import Any

import msgspec

from sssa.kinds.interface import ProvenTask
from sssa.proofs.builder import ConsensusBuilder
from sssa.proofs.consensus_proof import ConsensusProof
from sssa.proofs.proof_rules import NO_VERDICT
from sssa.proofs.records import VoteType
from sssa.protocol.canonical import digest
from sssa.protocol.results import WorkflowSubmission
from sssa.protocol.round import GoalTask, MemberOutcome, RanMember, WorkflowOutcome
from sssa.protocol.times import format_time
from sssa.scoring import version


def prove(settled: ProvenTask[GoalTask]) -> ConsensusProof | None:
    """Return the proof of one workflow task's group; None for a void or skipped task.

    The final claim is NONE: plans are compared with their goal, not with each other. Every member abstains, and the
    metadata names every plan, its run and what the run was worth.
    """
    frozen, task, group = settled.frozen, settled.task, settled.scored.group
    workflow = task.goal
    members = sorted(settled.scored.members, key=lambda member: member.hotkey)
    if not members:
        return None
    ran = {one.hotkey: one for one in settled.answers if isinstance(one, WorkflowSubmission)}
    builder = ConsensusBuilder(
        task.task_id,
        f"Plan and reach the {workflow.type} goal {task.bundle_sha256}.",
        timestamp=format_time(datetime.fromtimestamp(frozen.snapshot.block_time, UTC)),
        metadata={
            "kind": "workflow",
            "round_id": frozen.round_id,
            "task_id": task.task_id,
            "skill_type": str(task.skill_type),
            "workflow_type": workflow.type,
            "goal_sha256": task.bundle_sha256,
            "task_sha256": task.source_sha256,
            "scoring_version": frozen.scoring_version,
            "validator": frozen.validator_hotkey,
            "block": frozen.snapshot.block,
            "block_hash": frozen.snapshot.block_hash,
            "mode": group.mode,
            "n_valid": group.n_valid,
            "roles": {member.hotkey: member.role for member in members},
            "runs": [_run(member, ran[member.hotkey]) for member in members if member.hotkey in ran],
        },
    )
    start = version(frozen.scoring_version).rules.reputation.start
    reputations = {miner.hotkey: miner.reputations.get(task.skill_type, start) for miner in frozen.miners}
    for member in members:
        _abstain(builder, member, ran.get(member.hotkey), reputations.get(member.hotkey, start))
    summary = f"{group.n_valid} of {len(members)} plans passed the gates and were run; each is scored by itself."
    return builder.build(NO_VERDICT, None, False, summary, rounds=1)


def _run(member: MemberOutcome, submission: WorkflowSubmission) -> dict[str, Any]:
    """Return the measurements of one plan; `measured` and `score` are null while the quality is deferred."""
    scored = _worth(member)
    return {
        "hotkey": member.hotkey,
        "plan_sha256": submission.plan_sha256,
        "run_sha256": digest(submission.run),
        "quality": submission.quality,
        "measured": msgspec.to_builtins(scored.measured) if scored else None,
        "score": msgspec.to_builtins(scored.score) if scored else None,
    }


def _worth(member: MemberOutcome) -> WorkflowOutcome | None:
    return member.workflow if isinstance(member, RanMember) else None


def _abstain(
    builder: ConsensusBuilder,
    member: MemberOutcome,
    submission: WorkflowSubmission | None,
    reputation: float,
) -> None:
    if submission is None:
        builder.record_vote(member.hotkey, VoteType.ABSTAIN, 0.0, f"failed a gate: {member.reason}", weight=0.0)
        return
    steps = submission.run.steps
    scored = _worth(member)
    worth = f"S {scored.score.score!r}" if scored else str(member.reason)
    builder.record_vote(
        member.hotkey,
        VoteType.ABSTAIN,
        member.consensus,
        f"{member.role}: {sum(step.completed for step in steps)} of {len(steps)} steps completed, {worth}",
        weight=reputation,
    )
