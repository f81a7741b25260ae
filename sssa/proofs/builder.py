"""Builder of a consensus proof, record by record; every kind's `proof.py` and `debate.py` use it (SPEC 14)."""

from dataclasses import replace
from typing import Any, Final

from sssa.proofs.consensus_proof import ConsensusProof
from sssa.proofs.records import (
    DISSENTING,
    EPOCH,
    SUPPORTING,
    Claim,
    ConsensusVote,
    DissentRecord,
    Evidence,
    UnknownClaimError,
    UnresolvedTension,
    VoteType,
    agents_of,
    counted,
    text,
    unit,
    weighted_confidence,
)
from sssa.protocol.text import printable

FINAL: Final = "final"


class ConsensusBuilder:
    """A collection of claims, evidence, votes, dissents and tensions, of which it makes the proof.

    Nothing here reads a clock: every record carries `timestamp`. A value out of range raises ProofError, a claim that
    is not there UnknownClaimError.

    Args:
        debate_id: what all ids are made from: `proof-<debate>`, `<debate>-claim-N`, `-ev-N`, `-tension-N`, N from 1.
        timestamp: ISO 8601, UTC; of a group the time of the block its round is pinned to.
        metadata: JSON data for the proof. A `kind` of group, workflow or debate says that this program made it, and
            binds it to that kind's rules when it is verified.
    """

    def __init__(
        self,
        debate_id: str,
        task: str,
        *,
        timestamp: str = EPOCH,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        self.debate_id = text(debate_id, "debate_id")
        self.task = text(task, "task")
        self.timestamp = timestamp
        self.metadata = metadata or {}
        self.claims: list[Claim] = []
        self.evidence: list[Evidence] = []
        self.votes: list[ConsensusVote] = []
        self.dissents: list[DissentRecord] = []
        self.tensions: list[UnresolvedTension] = []
        self._by_id: dict[str, Claim] = {}

    def add_claim(
        self,
        statement: str,
        author: str,
        confidence: float = 0.5,
        round_num: int = 0,
        parent_claim_id: str | None = None,
    ) -> Claim:
        """Add a claim; `parent_claim_id` names the one that it revises."""
        if parent_claim_id is not None:
            self._claim(parent_claim_id)
        claim = Claim(
            f"{self.debate_id}-claim-{len(self.claims) + 1}",
            statement,
            author,
            confidence,
            round_introduced=round_num,
            parent_claim_id=parent_claim_id,
        )
        self.claims.append(claim)
        self._by_id[claim.claim_id] = claim
        return claim

    def add_evidence(  # noqa: PLR0913, PLR0917 - the names and their order are public
        self,
        claim_id: str | None,
        source: str,
        content: str,
        evidence_type: str = "argument",
        supports: bool = True,
        strength: float = 0.5,
        *,
        metadata: dict[str, Any] | None = None,
    ) -> Evidence:
        """Add evidence for or against a claim; with `claim_id` None it is in the chain, attached to nothing."""
        claim = None if claim_id is None else self._claim(claim_id)
        item = Evidence(
            f"{self.debate_id}-ev-{len(self.evidence) + 1}",
            source,
            content,
            evidence_type,
            supports,
            strength,
            self.timestamp,
            metadata or {},
        )
        if claim is not None:
            (claim.supporting_evidence if supports else claim.refuting_evidence).append(item)
        self.evidence.append(item)
        return item

    def record_vote(  # noqa: PLR0913 - the names and their order are public
        self,
        agent: str,
        vote: VoteType | str,
        confidence: float,
        reasoning: str,
        conditions: list[str] | None = None,
        *,
        weight: float = 1.0,
    ) -> ConsensusVote:
        """Record a vote; of several by one agent the last counts."""
        kind: Any = vote  # the record turns a value into its VoteType
        recorded = ConsensusVote(agent, kind, confidence, reasoning, conditions or [], self.timestamp, weight)
        self.votes.append(recorded)
        return recorded

    def record_dissent(  # noqa: PLR0913, PLR0917 - the names and their order are public
        self,
        agent: str,
        claim_id: str,
        reasons: list[str],
        dissent_type: str = "partial",
        alternative: str | None = None,
        severity: float = 0.5,
        suggested_resolution: str | None = None,
    ) -> DissentRecord:
        """Record a dissent from a claim; `claim_id` `final` is the final claim."""
        if claim_id != FINAL:
            self._claim(claim_id)
        dissent = DissentRecord(
            agent, claim_id, dissent_type, reasons, alternative, suggested_resolution, severity, self.timestamp
        )
        self.dissents.append(dissent)
        return dissent

    def record_tension(
        self, description: str, agents: list[str], options: list[str], impact: str, followup: str | None = None
    ) -> UnresolvedTension:
        """Record what the agents stay divided on (ProofError: a value of the wrong kind)."""
        tension = UnresolvedTension(
            f"{self.debate_id}-tension-{len(self.tensions) + 1}",
            description,
            agents,
            options,
            impact,
            followup,
        )
        self.tensions.append(tension)
        return tension

    def build(
        self,
        final_claim: str,
        confidence: float | None,
        consensus_reached: bool,
        reasoning_summary: str,
        rounds: int = 0,
    ) -> ConsensusProof:
        """Return the proof; the builder can continue without changing it.

        `confidence` is in [0, 1]; None takes the weighted mean of the votes, sum w*c / sum w. `consensus_reached` says
        whether there is an answer of the whole.
        """
        votes = counted(self.votes)
        return ConsensusProof(
            proof_id=f"proof-{self.debate_id}",
            debate_id=self.debate_id,
            task=self.task,
            final_claim=final_claim,
            confidence=weighted_confidence(votes) if confidence is None else unit(confidence, "confidence"),
            consensus_reached=consensus_reached,
            votes=votes,
            supporting_agents=agents_of(votes, SUPPORTING),
            dissenting_agents=agents_of(votes, DISSENTING),
            claims=[_copy(claim) for claim in self.claims],
            dissents=list(self.dissents),
            unresolved_tensions=list(self.tensions),
            evidence_chain=list(self.evidence),
            reasoning_summary=reasoning_summary,
            created_at=self.timestamp,
            rounds_to_consensus=rounds,
            metadata=self.metadata,
        )

    def _claim(self, claim_id: str) -> Claim:
        claim = self._by_id.get(claim_id) or next((own for own in self.claims if own.claim_id == claim_id), None)
        if claim is None:
            raise UnknownClaimError(printable(str(claim_id), 100))
        return claim


def _copy(claim: Claim) -> Claim:
    return replace(
        claim,
        supporting_evidence=list(claim.supporting_evidence),
        refuting_evidence=list(claim.refuting_evidence),
    )
