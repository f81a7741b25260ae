"""The rules that a proof must follow: its votes and evidence give everything else (SPEC 14)."""

from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal, NamedTuple

import msgspec

from sssa.proofs.consensus_proof import ConsensusProof
from sssa.proofs.records import DISSENTING, SUPPORTING, Claim, VoteType, agents_of, weighted_confidence
from sssa.protocol.differences import first_difference, shown

NO_VERDICT: Final = "NONE"  # the final claim of a group without one
FAILED_SEVERITY: Final = 0.5
LEAST_VALID: Final = 3
_DISSENTS: Final = {
    VoteType.DISAGREE: "full",
    VoteType.CONDITIONAL: "partial",
    VoteType.ABSTAIN: "procedural",
}


def group_faults(proof: ConsensusProof) -> Iterator[tuple[str, str]]:
    """Yield place and fault of each contradiction in the proof of a group."""
    valid = _valid(proof)
    agreeing = sum(vote.vote is VoteType.AGREE for vote in proof.votes)
    reached = valid is not None and len(valid) >= LEAST_VALID and 2 * agreeing > len(valid)
    derived: dict[str, Any] = {"consensus_reached": reached}
    stated: dict[str, Any] = {"consensus_reached": proof.consensus_reached}
    if valid is None:
        derived["votes"] = [{"vote": str(VoteType.ABSTAIN)}] * len(proof.votes)
        stated["votes"] = [{"vote": str(vote.vote)} for vote in proof.votes]
    else:
        derived["metadata"] = {"n_valid": len(valid), "threshold": len(valid) // 2 + 1}
        stated["metadata"] = {name: proof.metadata.get(name) for name in derived["metadata"]}
    yield from _difference(stated, derived, "", "votes")
    yield from _dissent_faults(proof, verdict=valid is not None)
    for i, claim in enumerate(proof.claims):
        yield from _claim_faults(f"claims[{i}]", claim, valid)


def _valid(proof: ConsensusProof) -> list[str] | None:
    """Return the valid members, sorted; None without a verdict, where votes do not show them."""
    if proof.final_claim == NO_VERDICT:
        return None
    return sorted(vote.agent for vote in proof.votes if vote.vote is not VoteType.ABSTAIN)


def _difference(stated: Any, derived: Any, place: str, source: str) -> Iterator[tuple[str, str]]:
    """Yield place and fault of the first value that differs from the one derived from `source`."""
    difference = first_difference(stated, derived, place)
    if difference is not None:
        yield difference.path, f"{difference.sentence} from the {source}"


def _dissent_faults(proof: ConsensusProof, *, verdict: bool) -> Iterator[tuple[str, str]]:
    derived = [
        {
            "agent": vote.agent,
            "claim_id": "final",
            "dissent_type": _DISSENTS[vote.vote],
            "severity": FAILED_SEVERITY if vote.vote is VoteType.ABSTAIN else max(0.0, 1.0 - vote.confidence),
        }
        for vote in proof.votes
        if verdict and vote.vote in _DISSENTS
    ]
    fields = ("agent", "claim_id", "dissent_type", "severity")
    stated = [{name: getattr(dissent, name) for name in fields} for dissent in proof.dissents]
    yield from _difference(stated, derived, "dissents", "votes")


def _claim_faults(place: str, claim: Claim, valid: list[str] | None) -> Iterator[tuple[str, str]]:
    """Yield faults of a claim: each valid member has one item of strength 1, and their share is the confidence."""
    supporting = [item.source for item in claim.supporting_evidence]
    sources = sorted(supporting + [item.source for item in claim.refuting_evidence])
    derived: dict[str, Any] = {"confidence": len(supporting) / len(sources) if sources else 0.0}
    stated: dict[str, Any] = {"confidence": claim.confidence}
    for side in ("supporting_evidence", "refuting_evidence"):
        items = getattr(claim, side)
        stated[side] = [{"strength": item.strength} for item in items]
        derived[side] = [{"strength": 1.0}] * len(items)
    if valid is not None and sources != valid:
        yield place, "has not one piece of evidence of each valid member"
    yield from _difference(stated, derived, place, "evidence")


DISSENT_TYPES: Final = ("full", "partial", "procedural")
_LISTS: Final = (("supporting_agents", SUPPORTING), ("dissenting_agents", DISSENTING))


class Doubt(NamedTuple):
    """A field of a proof that does not follow from its votes and evidence.

    Attributes:
        place: path of the field.
        what: the stored and the recomputed value, printable.
        level: `wrong` refuses the proof; `unknown` cannot be recomputed from what the proof has; `odd` is against the
            form, in the proof of another producer.
    """

    place: str
    what: str
    level: Literal["wrong", "unknown", "odd"]


def doubts(proof: ConsensusProof) -> Iterator[Doubt]:
    """Yield the doubts about a proof, fields in the order of SPEC 14; the cost is linear.

    A proof whose metadata have `kind` group, workflow or debate is made by this program and has all that is needed.
    Another producer's may lack votes, name an agent's earlier votes or bring its own confidence: what then cannot
    be recomputed is yielded as `unknown`.
    """
    kind = proof.metadata.get("kind")
    own = kind in ("group", "workflow", "debate")
    yield from _lists(proof, own=own)
    yield from _confidence(proof, may_be_given=kind not in ("group", "workflow"))
    if kind in ("group", "workflow"):
        for place, what in group_faults(proof):
            yield Doubt(place, what, "wrong")
    for i, dissent in enumerate(proof.dissents):
        if dissent.dissent_type not in DISSENT_TYPES:
            what = f"is {shown(dissent.dissent_type)}, must be full, partial or procedural"
            yield Doubt(f"dissents[{i}].dissent_type", what, "wrong" if own else "odd")
    divided = divided_evidence(proof) if own else None
    if divided is not None:
        yield Doubt(*divided, "wrong")


def divided_evidence(proof: ConsensusProof) -> tuple[str, str] | None:
    """Return the place of the first evidence that differs between its claim and the chain, and what is wrong."""
    chain = {item.evidence_id: item for item in proof.evidence_chain}
    for i, claim in enumerate(proof.claims):
        for side, supports in (("supporting_evidence", True), ("refuting_evidence", False)):
            for j, item in enumerate(getattr(claim, side)):
                place, other = f"claims[{i}].{side}[{j}]", chain.get(item.evidence_id)
                if other is None:
                    return f"{place}.evidence_id", "is not what the evidence chain says"
                if other != item:
                    difference = first_difference(msgspec.to_builtins(item), msgspec.to_builtins(other), place)
                    return difference.path if difference else place, "is not what the evidence chain says"
                if item.supports_claim is not supports:
                    return f"{place}.supports_claim", f"is {shown(not supports)}, the list it is in gives the opposite"
    return None


def _lists(proof: ConsensusProof, *, own: bool) -> Iterator[Doubt]:
    unknown: Literal["wrong", "unknown"] = "wrong" if own else "unknown"
    again = _second_vote(proof)
    if again is not None:
        what = f"{shown(proof.votes[again].agent)} has voted before: the agent lists cannot be recomputed"
        yield Doubt(f"votes[{again}].agent", what, unknown)
        return
    for name, kinds in _LISTS:
        stated: Sequence[str] = getattr(proof, name)
        if not proof.votes and stated:
            yield Doubt(name, "cannot be recomputed: the proof has no votes", unknown)
            continue
        # Only this program promises an order.
        listed, derived = list(stated) if own else sorted(stated), agents_of(proof.votes, kinds)
        for place, fault in _difference(listed, derived, name, "votes"):
            yield Doubt(place if own else name, fault, "wrong")


def _second_vote(proof: ConsensusProof) -> int | None:
    seen: set[str] = set()
    for i, vote in enumerate(proof.votes):
        if vote.agent in seen:
            return i
        seen.add(vote.agent)
    return None


def _confidence(proof: ConsensusProof, *, may_be_given: bool) -> Iterator[Doubt]:
    mean = weighted_confidence(proof.votes)
    if proof.confidence == mean:
        if proof.confidence_given:
            yield Doubt("confidence_given", "is true, but the confidence is the mean of the votes", "wrong")
    elif proof.confidence_given and may_be_given:
        what = f"{proof.confidence!r} was given and cannot be recomputed: the votes give {mean!r}"
        yield Doubt("confidence", what, "unknown")
    else:
        yield Doubt("confidence", f"is {proof.confidence!r}, {mean!r} follows from the votes", "wrong")
