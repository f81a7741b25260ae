"""What a consensus proof is made of: evidence, claims, votes, dissents, tensions (SPEC 14).

Names, order and defaults of the fields are those that debate systems use. Records are mutable, because a debate grows
and revises its claims; a proof is told from another by its checksum and digest, never by identity. Scores are in [0, 1]
and checked when a record is made, times are ISO 8601 in UTC and given, never read from a clock.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from validator.proofs.checks import (
    EPOCH,
    ProofError,
    flag,
    optional_text,
    plain,
    records,
    text,
    texts,
    unit,
    weight,
    whole,
)


class VoteType(StrEnum):
    """How an agent stands to the final claim."""

    AGREE = "agree"
    DISAGREE = "disagree"
    ABSTAIN = "abstain"
    CONDITIONAL = "conditional"


@dataclass(slots=True)
class Evidence:
    """Something that speaks for a claim or against it.

    Attributes:
        evidence_id: unique within the proof.
        source: an agent, a tool or an external reference.
        content: what it says.
        evidence_type: argument, data, citation, tool_output, or a name of the debate's own.
        supports_claim: False refutes.
        strength: in [0, 1].
        timestamp: ISO 8601, UTC.
        metadata: JSON data.

    Raises:
        ProofError: a value out of range.
    """

    evidence_id: str
    source: str
    content: str
    evidence_type: str
    supports_claim: bool
    strength: float
    timestamp: str = EPOCH
    metadata: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("evidence_id", "source", "content", "evidence_type", "timestamp"):
            text(getattr(self, name), name)
        flag(self.supports_claim, "supports_claim")
        self.strength = unit(self.strength, "strength")
        self.metadata = plain(self.metadata, "metadata")


@dataclass(slots=True)
class Claim:
    """A statement with the evidence for and against it.

    Attributes:
        claim_id: unique within the proof.
        statement: what is claimed.
        author: who claimed it first.
        confidence: in [0, 1].
        supporting_evidence: items that speak for it.
        refuting_evidence: items that speak against it.
        round_introduced: round of the debate.
        status: active, revised, withdrawn, merged, or a name of the debate's own.
        parent_claim_id: the claim that it revises.

    Raises:
        ProofError: a value out of range.
    """

    claim_id: str
    statement: str
    author: str
    confidence: float
    supporting_evidence: list[Evidence] = field(default_factory=list)
    refuting_evidence: list[Evidence] = field(default_factory=list)
    round_introduced: int = 0
    status: str = "active"
    parent_claim_id: str | None = None

    def __post_init__(self) -> None:
        for name in ("claim_id", "statement", "author", "status"):
            text(getattr(self, name), name)
        optional_text(self.parent_claim_id, "parent_claim_id")
        whole(self.round_introduced, "round_introduced")
        records(self.supporting_evidence, "supporting_evidence", Evidence)
        records(self.refuting_evidence, "refuting_evidence", Evidence)
        self.confidence = unit(self.confidence, "confidence")

    @property
    def net_evidence_strength(self) -> float:
        """(s - r)/(s + r) of the summed strengths, in [-1, 1]; 0 without evidence (SPEC 14)."""
        supporting = refuting = 0.0
        for item in self.supporting_evidence:
            supporting += item.strength
        for item in self.refuting_evidence:
            refuting += item.strength
        total = supporting + refuting
        return (supporting - refuting) / total if total else 0.0


@dataclass(slots=True)
class DissentRecord:
    """One agent's dissent.

    Attributes:
        agent: who dissents.
        claim_id: from which claim; `final` is the final claim.
        dissent_type: full (complete rejection), partial (major reservations) or procedural (objection to the process).
        reasons: why.
        alternative_view: what the agent holds instead.
        suggested_resolution: how to settle it.
        severity: in [0, 1].
        timestamp: ISO 8601, UTC.

    Raises:
        ProofError: a value out of range.
    """

    agent: str
    claim_id: str
    dissent_type: str
    reasons: list[str]
    alternative_view: str | None = None
    suggested_resolution: str | None = None
    severity: float = 0.5
    timestamp: str = EPOCH

    def __post_init__(self) -> None:
        for name in ("agent", "claim_id", "dissent_type", "timestamp"):
            text(getattr(self, name), name)
        for name in ("alternative_view", "suggested_resolution"):
            optional_text(getattr(self, name), name)
        self.reasons = texts(self.reasons, "reasons")
        self.severity = unit(self.severity, "severity")


@dataclass(slots=True)
class UnresolvedTension:
    """Something on which the agents stay divided.

    Attributes:
        tension_id: unique within the proof.
        description: what it is about.
        agents_involved: who is divided.
        options: the positions.
        impact: what depends on it.
        suggested_followup: how to resolve it later.
    """

    tension_id: str
    description: str
    agents_involved: list[str]
    options: list[str]
    impact: str
    suggested_followup: str | None = None

    def __post_init__(self) -> None:
        for name in ("tension_id", "description", "impact"):
            text(getattr(self, name), name)
        optional_text(self.suggested_followup, "suggested_followup")
        self.agents_involved = texts(self.agents_involved, "agents_involved")
        self.options = texts(self.options, "options")


@dataclass(slots=True)
class ConsensusVote:
    """One agent's vote on the final claim.

    Attributes:
        agent: who votes.
        vote: a VoteType, or its value.
        confidence: in [0, 1].
        reasoning: why.
        conditions: the reservations of a conditional vote.
        timestamp: ISO 8601, UTC.
        weight: what the confidence counts, in [0, 1,000,000].

    Raises:
        ProofError: a value out of range.
    """

    agent: str
    vote: VoteType
    confidence: float
    reasoning: str
    conditions: list[str] = field(default_factory=list)
    timestamp: str = EPOCH
    weight: float = 1.0

    def __post_init__(self) -> None:
        for name in ("agent", "reasoning", "timestamp"):
            text(getattr(self, name), name)
        try:
            self.vote = VoteType(self.vote)
        except ValueError:
            raise ProofError(f"vote must be one of {', '.join(VoteType)}") from None
        self.conditions = texts(self.conditions, "conditions")
        self.confidence = unit(self.confidence, "confidence")
        self.weight = weight(self.weight, "weight")
