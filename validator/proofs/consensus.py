"""What a consensus proof says, and what follows from it (SPEC 14)."""

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from validator.proofs.checks import EPOCH, ProofError, flag, plain, records, text, texts, unit, whole
from validator.proofs.partial import ClaimConsensus, partial_consensus
from validator.proofs.records import Claim, ConsensusVote, DissentRecord, Evidence, UnresolvedTension
from validator.proofs.votes import weighted_confidence

PROOF_VERSION: Final = "1.1"
STRONG_RATIO: Final = 0.8
STRONG_CONFIDENCE: Final = 0.7
GRAVE_DISSENT: Final = 0.7
LOW_RATIO: Final = 0.6
UNANIMOUS: Final = 0.9
MAJORITY: Final = 0.6
_CHECKSUM_DIGITS: Final = 16


@dataclass(slots=True)
class Consensus:
    """What a group or a debate agreed on, who did not, and why.

    Attributes:
        proof_id: `proof-<debate>`.
        debate_id: the debate, or the task of a group.
        task: the question.
        final_claim: the answer.
        confidence: in [0, 1].
        consensus_reached: whether there is an answer of the whole.
        votes: one per agent.
        supporting_agents: who voted agree or conditional.
        dissenting_agents: who voted disagree.
        claims: with their evidence.
        dissents: with their reasons.
        unresolved_tensions: what stayed open.
        evidence_chain: all evidence, in the order it came.
        reasoning_summary: in words.
        created_at: ISO 8601, UTC.
        rounds_to_consensus: rounds of the debate.
        metadata: JSON data.
        proof_version: `1.1`, the form that it is written in.
        confidence_given: whether the confidence is not the votes' mean; None, where a proof is made, finds out.

    Raises:
        ProofError: a value out of range.
    """

    proof_id: str
    debate_id: str
    task: str
    final_claim: str
    confidence: float
    consensus_reached: bool
    votes: list[ConsensusVote]
    supporting_agents: list[str]
    dissenting_agents: list[str]
    claims: list[Claim]
    dissents: list[DissentRecord]
    unresolved_tensions: list[UnresolvedTension]
    evidence_chain: list[Evidence]
    reasoning_summary: str
    created_at: str = EPOCH
    rounds_to_consensus: int = 0
    metadata: dict[str, Any] = field(default_factory=dict)
    proof_version: str = PROOF_VERSION
    confidence_given: bool | None = None

    def __post_init__(self) -> None:
        for name in ("proof_id", "debate_id", "task", "final_claim", "reasoning_summary", "created_at"):
            text(getattr(self, name), name)
        self.supporting_agents = texts(self.supporting_agents, "supporting_agents")
        self.dissenting_agents = texts(self.dissenting_agents, "dissenting_agents")
        flag(self.consensus_reached, "consensus_reached")
        whole(self.rounds_to_consensus, "rounds_to_consensus")
        records(self.votes, "votes", ConsensusVote)
        records(self.claims, "claims", Claim)
        records(self.dissents, "dissents", DissentRecord)
        records(self.unresolved_tensions, "unresolved_tensions", UnresolvedTension)
        records(self.evidence_chain, "evidence_chain", Evidence)
        self.confidence = unit(self.confidence, "confidence")
        self.metadata = plain(self.metadata, "metadata")
        if self.proof_version != PROOF_VERSION:
            raise ProofError(f"proof_version must be {PROOF_VERSION}")
        if self.confidence_given is None:
            self.confidence_given = self.confidence != weighted_confidence(self.votes)
        flag(self.confidence_given, "confidence_given")

    @property
    def checksum(self) -> str:
        """16 hex digits over final claim, votes and claims; computed anew each time (SPEC 14)."""
        return checksum_of(self.final_claim, msgspec.to_builtins(self.votes), msgspec.to_builtins(self.claims))

    @property
    def agreement_ratio(self) -> float:
        """Supporting / (supporting + dissenting) agents, in [0, 1]; 0 when there are neither."""
        supporting = len(self.supporting_agents)
        both = supporting + len(self.dissenting_agents)
        return supporting / both if both else 0.0

    @property
    def has_strong_consensus(self) -> bool:
        """Reached, ratio > 0.8 and confidence > 0.7, all strict; a group reaches it only with 3 valid members."""
        return self.consensus_reached and self.agreement_ratio > STRONG_RATIO and self.confidence > STRONG_CONFIDENCE

    def get_confidence_breakdown(self) -> dict[str, float]:
        """Return each voter's confidence; of an agent that voted twice, the last."""
        return {vote.agent: vote.confidence for vote in self.votes}

    def get_blind_spots(self) -> list[str]:
        """Return what may be overlooked, plain text: grave dissents with an alternative, tensions, a low ratio."""
        spots = [
            f"Alternative view of {dissent.agent}: {dissent.alternative_view}"
            for dissent in self.dissents
            if dissent.severity >= GRAVE_DISSENT and dissent.alternative_view
        ]
        spots += [f"Unresolved: {tension.description}" for tension in self.unresolved_tensions]
        if self.agreement_ratio < LOW_RATIO:
            spots.append(f"Low consensus: an agreement ratio of {self.agreement_ratio:.4f} leaves room for other views")
        return spots

    def get_risk_correlation(self) -> dict[str, list[str]]:
        """Return statements, plain text, by the share of evidence items that support them (SPEC 14).

        Keys are unanimous (at least 0.9), majority (at least 0.6) and contested, where tensions stand too. Claims
        without evidence are left out.
        """
        found: dict[str, list[str]] = {"unanimous": [], "majority": [], "contested": []}
        for claim in self.claims:
            supporting = len(claim.supporting_evidence)
            items = supporting + len(claim.refuting_evidence)
            if items:
                found[_correlation(supporting / items)].append(claim.statement)
        found["contested"] += [tension.description for tension in self.unresolved_tensions]
        return found

    def get_partial_consensus(self) -> list[ClaimConsensus]:
        """Return who is for and who is against every claim that stands, and whether it is agreed on (SPEC 14)."""
        return partial_consensus(self.claims, self.votes, self.dissents, self.metadata.get("kind"))


def checksum_of(final_claim: str, votes: list[Any], claims: list[Any]) -> str:
    """Return the checksum of a proof from its parts as JSON data."""
    parts = {"final_claim": final_claim, "votes": votes, "claims": claims}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:_CHECKSUM_DIGITS]


def _correlation(share: float) -> str:
    return "unanimous" if share >= UNANIMOUS else "majority" if share >= MAJORITY else "contested"
