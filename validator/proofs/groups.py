"""What else of a group's proof follows from its votes: consensus, dissents, and how sure each claim is (SPEC 14)."""

from collections.abc import Iterator
from typing import Any, Final

from validator.proofs.consensus import Consensus
from validator.proofs.differences import first_difference
from validator.proofs.records import Claim, VoteType

NO_VERDICT: Final = "NONE"  # the final claim of a group without one
FAILED_SEVERITY: Final = 0.5
LEAST_VALID: Final = 3
_DISSENTS: Final = {
    VoteType.DISAGREE: "full",
    VoteType.CONDITIONAL: "partial",
    VoteType.ABSTAIN: "procedural",
}


def group_faults(proof: Consensus) -> Iterator[tuple[str, str]]:
    """Yield place and fault of what does not follow in the proof of an assessment's or a workflow task's group."""
    valid = _valid(proof)
    agreeing = sum(vote.vote is VoteType.AGREE for vote in proof.votes)
    reached = valid is not None and len(valid) >= LEAST_VALID and 2 * agreeing > len(valid)
    follows: dict[str, Any] = {"consensus_reached": reached}
    stands: dict[str, Any] = {"consensus_reached": proof.consensus_reached}
    if valid is None:
        follows["votes"] = [{"vote": str(VoteType.ABSTAIN)}] * len(proof.votes)
        stands["votes"] = [{"vote": str(vote.vote)} for vote in proof.votes]
    else:
        follows["metadata"] = {"n_valid": len(valid), "threshold": len(valid) // 2 + 1}
        stands["metadata"] = {name: proof.metadata.get(name) for name in follows["metadata"]}
    found = first_difference(stands, follows)
    if found is not None:
        yield found.place, f"{found.told} from the votes"
    yield from _dissent_faults(proof, verdict=valid is not None)
    for i, claim in enumerate(proof.claims):
        yield from _claim_faults(f"claims[{i}]", claim, valid)


def _valid(proof: Consensus) -> list[str] | None:
    """Return who passed the gates, sorted; None without a verdict, where votes do not tell."""
    if proof.final_claim == NO_VERDICT:
        return None
    return sorted(vote.agent for vote in proof.votes if vote.vote is not VoteType.ABSTAIN)


def _dissent_faults(proof: Consensus, *, verdict: bool) -> Iterator[tuple[str, str]]:
    follows = [
        {
            "agent": vote.agent,
            "claim_id": "final",
            "dissent_type": _DISSENTS[vote.vote],
            "severity": FAILED_SEVERITY if vote.vote is VoteType.ABSTAIN else max(0.0, 1.0 - vote.confidence),
        }
        for vote in proof.votes
        if verdict and vote.vote in _DISSENTS
    ]
    stands = [
        {
            "agent": dissent.agent,
            "claim_id": dissent.claim_id,
            "dissent_type": dissent.dissent_type,
            "severity": dissent.severity,
        }
        for dissent in proof.dissents
    ]
    found = first_difference(stands, follows, "dissents")
    if found is not None:
        yield found.place, f"{found.told} from the votes"


def _claim_faults(place: str, claim: Claim, valid: list[str] | None) -> Iterator[tuple[str, str]]:
    """Hold a claim to the members: each valid one has one item of strength 1, and their share is the confidence."""
    supporting = [item.source for item in claim.supporting_evidence]
    sources = sorted(supporting + [item.source for item in claim.refuting_evidence])
    follows: dict[str, Any] = {"confidence": len(supporting) / len(sources) if sources else 0.0}
    stands: dict[str, Any] = {"confidence": claim.confidence}
    for side in ("supporting_evidence", "refuting_evidence"):
        items = getattr(claim, side)
        stands[side] = [{"strength": item.strength} for item in items]
        follows[side] = [{"strength": 1.0}] * len(items)
    if valid is not None and sources != valid:
        yield place, "has not one piece of evidence of each valid member"
    found = first_difference(stands, follows, place)
    if found is not None:
        yield found.place, f"{found.told} from the evidence"
