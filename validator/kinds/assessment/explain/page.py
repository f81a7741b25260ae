"""Explanation of one assessment as a whole: from the group's selection to what entered the miner's window."""

from typing import Literal

from validator.kinds.assessment.explain.consensus import Consensus, explain_consensus
from validator.kinds.assessment.explain.quality import Product, Quality, explain_emission, explain_quality
from validator.kinds.assessment.gates import applying_gates
from validator.kinds.explained.task import TaskExplanation, TaskFacts, explain_task
from validator.protocol.answer import Role
from validator.protocol.findings import match_faults
from validator.protocol.reasons import Reason
from validator.protocol.results import Submission
from validator.protocol.round import AssessedMember, AssessmentTask, MemberOutcome, Mode, RoundInput
from validator.protocol.sssa import Category, Document, Finding, Severity
from validator.protocol.task import Truth
from validator.scoring import answer_facts, compare_answers


class KnownFault(Document, frozen=True):
    """One fault of the truth.

    Attributes:
        kind: `family/shape` of a planted one.
        found_at: the evidence that the miner named for it; None where it did not find it.
    """

    kind: str
    category: Category
    severity: Severity
    evidence_ref: str
    cve_ids: tuple[str, ...]
    found_at: str | None


class FaultsFound(Document, frozen=True):
    """Faults of the truth that a miner found.

    Attributes:
        faults: in the order of the truth; `found` of them it found.
        beside: findings of the miner that name none of them.
    """

    faults: tuple[KnownFault, ...]
    found: int
    beside: int


def explain_faults(truth: Truth | None, reported: tuple[Finding, ...]) -> FaultsFound | None:
    """Return which faults of the truth the findings name; None where the truth does not say what there is to find."""
    known = truth.findings if truth is not None else None
    if not isinstance(known, tuple):
        return None
    named = match_faults(known, reported)
    return FaultsFound(
        tuple(
            KnownFault(
                fault.kind,
                fault.category,
                fault.severity,
                fault.evidence_ref,
                fault.cve_ids,
                None if by is None else reported[by].evidence_ref,
            )
            for fault, by in zip(known, named.by, strict=True)
        ),
        found=sum(by is not None for by in named.by),
        beside=len(named.unplanted),
    )


class MemberLine(Document, frozen=True):
    """One member of the group; verdict, risk and consensus only of answers that passed the gates."""

    hotkey: str
    uid: int | None
    role: Role
    reason: Reason | None
    verdict: str | None
    risk_score: float | None
    consensus: float | None
    entry: float | None


class Group(Document, frozen=True):
    """Result of a group; the verdict and the mean risk are None below three valid answers (D-3)."""

    mode: Mode
    n_valid: int
    threshold: int
    verdict: str | None
    mean_risk: float | None
    scored_verdict: str | None
    provenance: Literal["curated", "canary", "consensus"] | None
    auditor_agreement: float | None
    members: tuple[MemberLine, ...]


class AssessmentExplanation(TaskExplanation, frozen=True, tag="assessment"):
    """An assessment as one miner met it.

    Attributes:
        group: None for a void or skipped task.
        consensus: None where consensus was off, or its answer failed a gate.
        quality, emission: None where its answer failed a gate, or there is no verdict to score against (D-7).
        faults: what it found of the faults that the bundle is known to have; None where its answer failed a gate, or
            the truth does not name them (SPEC 16, D-33).
    """

    bundle_sha256: str
    provenance: str
    group: Group | None
    consensus: Consensus | None
    quality: Quality | None
    emission: Product | None
    faults: FaultsFound | None


def explain_assessment(
    frozen: RoundInput, facts: TaskFacts[AssessmentTask], hotkey: str
) -> AssessmentExplanation | None:
    """Return the task as `hotkey` met it, None if it was no candidate."""
    task = facts.task
    submissions = facts.results.answers(task.task_id, Submission)
    own = next((s for s in submissions if s.hotkey == hotkey), None)
    common = explain_task(frozen, facts, hotkey, applying_gates, own.semantic_subset if own else None)
    if common is None:
        return None
    scored = facts.member(hotkey)
    compared = compare_answers(facts.version, task, facts.planned.group, submissions, facts.keys)
    answer = None
    if own is not None and scored is not None and compared.standard is not None:
        answer = answer_facts(own, scored.consensus, compared.standard, task, frozen.snapshot.epoch)
    assessed = scored if isinstance(scored, AssessedMember) else None
    reward = assessed.emission if assessed else None
    return AssessmentExplanation(
        **common,
        bundle_sha256=task.bundle_sha256,
        provenance=task.provenance,
        group=_group(frozen, facts) if facts.state == "settled" else None,
        consensus=explain_consensus(facts, compared, assessed, submissions) if assessed else None,
        quality=explain_quality(facts.version, answer, reward) if answer and reward else None,
        emission=explain_emission(facts.version, answer, reward) if answer and reward else None,
        faults=explain_faults(task.truth, own.sssa.analysis.findings) if own else None,
    )


def _group(frozen: RoundInput, facts: TaskFacts[AssessmentTask]) -> Group:
    outcome = facts.outcome
    uids = {neuron.hotkey: neuron.uid for neuron in frozen.snapshot.neurons}
    said = {s.hotkey: s.sssa.analysis for s in facts.results.answers(outcome.task_id, Submission)}
    return Group(
        mode=outcome.mode,
        n_valid=outcome.n_valid,
        threshold=outcome.threshold,
        verdict=outcome.verdict,
        mean_risk=outcome.mean_risk,
        scored_verdict=outcome.scored_verdict,
        provenance=outcome.provenance,
        auditor_agreement=outcome.auditor_agreement,
        members=tuple(
            MemberLine(
                hotkey=member.hotkey,
                uid=uids.get(member.hotkey),
                role=member.role,
                reason=member.reason,
                verdict=said[member.hotkey].verdict if member.hotkey in said else None,
                risk_score=said[member.hotkey].risk_score if member.hotkey in said else None,
                consensus=member.consensus if _compared(member) else None,
                entry=member.window_entry,
            )
            for member in facts.members
        ),
    )


def _compared(member: MemberOutcome) -> bool:
    return isinstance(member, AssessedMember) and member.components is not None
