"""The consensus proof of an assessment's group, made when its round settles and again by replay (SPEC 14). Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from sssa.kinds.interface import ProvenTask
from sssa.proofs.builder import FINAL, ConsensusBuilder
from sssa.proofs.consensus_proof import ConsensusProof
from sssa.proofs.proof_rules import FAILED_SEVERITY, NO_VERDICT
from sssa.proofs.records import ProofError, VoteType
from sssa.protocol.answer import Role
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.results import Submission
from sssa.protocol.round import AssessmentTask, GroupOutcome, MemberOutcome, is_submitted
from sssa.protocol.skill_types import is_runtime
from sssa.protocol.sssa import Finding, signing_bytes
from sssa.protocol.text import cut
from sssa.protocol.times import format_time
from sssa.scoring import FindingKeys, Version, version

SHOWN: Final = 512  # code points of a finding's own words; the SSSA, named by its digest, has them all
_VOTES: Final = {True: VoteType.AGREE, False: VoteType.DISAGREE}


class _Member(NamedTuple):
    """One member of the group; `submission` is None where a gate failed, `findings` by key, of equal keys the first."""

    hotkey: str
    role: Role
    reputation: float
    outcome: MemberOutcome
    submission: Submission | None
    findings: Mapping[str, Finding]


def prove(settled: ProvenTask[AssessmentTask]) -> ConsensusProof | None:
    """Return the proof of one assessment's group; None for a void or skipped task."""
    frozen, task, group = settled.frozen, settled.task, settled.scored.group
    scored_by = version(frozen.scoring_version)
    keys = settled.keys or FindingKeys()
    members = _members(scored_by, settled, keys)
    if not members:
        return None
    builder = ConsensusBuilder(
        task.task_id,
        f"Assess the {task.skill_type} bundle {task.bundle_sha256}.",
        timestamp=format_time(datetime.fromtimestamp(frozen.snapshot.block_time, UTC)),
        metadata=_metadata(settled, members),
    )
    valid = [member for member in members if member.submission is not None]
    _claims(keys, builder, valid, frozen.round_id)
    _tensions(keys, builder, valid, group)
    named = _named(keys, valid)
    executed = frozen.executes and is_runtime(task.skill_type) and not is_submitted(task)
    for member in members:
        _vote(builder, member, group)
        _dissent(builder, member, group, named, executed=executed)
    agreeing = sum(vote.vote is VoteType.AGREE for vote in builder.votes)
    least = scored_by.rules.consensus.min_valid
    reached = group.verdict is not None and len(valid) >= least and 2 * agreeing > len(valid)
    return builder.build(
        group.verdict or NO_VERDICT, None, reached, _summary(least, group, len(members), agreeing), rounds=1
    )


def _members(scored_by: Version, settled: ProvenTask[AssessmentTask], keys: FindingKeys) -> list[_Member]:
    start, task = scored_by.rules.reputation.start, settled.task
    reputations = {miner.hotkey: miner.reputations.get(task.skill_type, start) for miner in settled.frozen.miners}
    answers = {answer.hotkey: answer for answer in settled.answers if isinstance(answer, Submission)}
    return [
        _Member(
            hotkey=member.hotkey,
            role=member.role,
            reputation=reputations.get(member.hotkey, start),
            outcome=member,
            submission=answers.get(member.hotkey),
            findings=_by_key(keys, answers.get(member.hotkey)),
        )
        for member in sorted(settled.scored.members, key=lambda member: member.hotkey)
    ]


def _by_key(keys: FindingKeys, submission: Submission | None) -> dict[str, Finding]:
    first: dict[str, Finding] = {}
    for finding in submission.sssa.analysis.findings if submission else ():
        first.setdefault(keys.key(finding), finding)
    return first


def _metadata(settled: ProvenTask[AssessmentTask], members: Sequence[_Member]) -> dict[str, Any]:
    frozen, task, group = settled.frozen, settled.task, settled.scored.group
    return {
        "kind": "group",
        "round_id": frozen.round_id,
        "task_id": task.task_id,
        "skill_type": str(task.skill_type),
        "bundle_sha256": task.bundle_sha256,
        "scoring_version": frozen.scoring_version,
        "validator": frozen.validator_hotkey,
        "block": frozen.snapshot.block,
        "block_hash": frozen.snapshot.block_hash,
        "mode": group.mode,
        "n_valid": group.n_valid,
        "threshold": group.threshold,
        "roles": {member.hotkey: member.role for member in members},
        "finding_keys": sorted({key for member in members for key in member.findings}),  # in the order of the claims
    }


def _claims(keys: FindingKeys, builder: ConsensusBuilder, valid: Sequence[_Member], round_id: str) -> None:
    """Add a claim per key that anyone reported, by key; its items by hotkey."""
    origins = {member.hotkey: _origin(member, round_id) for member in valid}
    for key in sorted({key for member in valid for key in member.findings}):
        reporters = [member for member in valid if key in member.findings]
        claim = builder.add_claim(
            _statement(keys, reporters[0].findings[key]), reporters[0].hotkey, len(reporters) / len(valid)
        )
        for member in valid:
            finding = member.findings.get(key)
            builder.add_evidence(
                claim.claim_id,
                member.hotkey,
                "not reported" if finding is None else cut(f"{finding.evidence_ref} {finding.target_pattern}", SHOWN),
                "tool_output",
                supports=finding is not None,
                strength=1.0,
                metadata=origins[member.hotkey],
            )


def _origin(member: _Member, round_id: str) -> dict[str, str]:
    if member.submission is None:
        raise ProofError("evidence comes from valid members only")
    sha256 = sha256_hex(signing_bytes(member.submission.sssa))
    return {"round_id": round_id, "task_id": member.submission.task_id, "sssa_sha256": sha256}


def _statement(keys: FindingKeys, finding: Finding) -> str:
    category, severity, evidence, _, target = keys.parts(finding)
    return cut(f"{category} | {severity} | {evidence} | {target}", SHOWN)  # no part holds a bar (D-2)


def _tensions(keys: FindingKeys, builder: ConsensusBuilder, valid: Sequence[_Member], group: GroupOutcome) -> None:
    """Record every key that more than one and less than T members report."""
    reports = Counter(key for member in valid for key in member.findings)
    for key in sorted(key for key, count in reports.items() if 1 < count < group.threshold):
        reporters = [member for member in valid if key in member.findings]
        builder.record_tension(
            _statement(keys, reporters[0].findings[key]),
            [member.hotkey for member in reporters],
            ["a risk of this bundle", "not a risk of this bundle"],
            f"{len(reporters)} of {len(valid)} report it; {group.threshold} would make it a finding of the group.",
            "operator review",
        )


def _vote(builder: ConsensusBuilder, member: _Member, group: GroupOutcome) -> None:
    if member.submission is None:
        builder.record_vote(member.hotkey, VoteType.ABSTAIN, 0.0, f"failed a gate: {member.outcome.reason}", weight=0.0)
        return
    analysis = member.submission.sssa.analysis
    kind = _kind(analysis.verdict, group.verdict)
    builder.record_vote(
        member.hotkey,
        kind,
        member.outcome.consensus,
        f"{member.role}: {analysis.verdict} at risk {analysis.risk_score!r} with {len(member.findings)} findings",
        ["a review before the verdict stands"] if kind is VoteType.CONDITIONAL else [],
        weight=member.reputation,
    )


def _kind(verdict: str, group_verdict: str | None) -> VoteType:
    if group_verdict is None:
        return VoteType.ABSTAIN
    return VoteType.CONDITIONAL if verdict == "REVIEW" != group_verdict else _VOTES[verdict == group_verdict]


def _named(keys: FindingKeys, valid: Sequence[_Member]) -> Mapping[str, str]:
    """Return the statement of each key's claim, by which reasons name the key."""
    findings = {key: finding for member in valid for key, finding in member.findings.items()}
    return {key: _statement(keys, finding) for key, finding in findings.items()}


def _dissent(
    builder: ConsensusBuilder,
    member: _Member,
    group: GroupOutcome,
    named: Mapping[str, str],
    *,
    executed: bool,
) -> None:
    """Record the dissent of a member that did not agree; without a group verdict there is none to dissent from."""
    kind = builder.votes[-1].vote
    if group.verdict is None or kind is VoteType.AGREE:
        return
    again = executed and member.submission is not None and member.outcome.role == "primary"
    resolution = "sandbox rerun" if again else "operator review"
    if member.submission is None:
        builder.record_dissent(
            member.hotkey, FINAL, [member.outcome.reason], "procedural", None, FAILED_SEVERITY, resolution
        )
        return
    own, theirs = set(member.findings), set(group.finding_keys)
    builder.record_dissent(
        member.hotkey,
        FINAL,
        [f"missed {named[key]}" for key in sorted(theirs - own)]
        + [f"extra {named[key]}" for key in sorted(own - theirs)],
        "full" if kind is VoteType.DISAGREE else "partial",
        member.submission.sssa.analysis.verdict,
        max(0.0, 1.0 - member.outcome.consensus),
        resolution,
    )


def _summary(least: int, group: GroupOutcome, members: int, agreeing: int) -> str:
    if group.verdict is None:
        return f"{group.n_valid} of {members} answers are valid; a group verdict takes {least}."
    return (
        f"{group.n_valid} of {members} answers are valid; {agreeing} of them say {group.verdict}, the most frequent "
        f"verdict. {len(group.finding_keys)} findings are reported by at least {group.threshold}."
    )
