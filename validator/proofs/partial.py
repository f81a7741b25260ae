"""Partial consensus: which claims are agreed on, whatever became of the whole (SPEC 14)."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from validator.proofs.records import Claim, ConsensusVote, DissentRecord, VoteType
from validator.proofs.votes import counted

GRAVE_EVIDENCE: Final = 0.8 * 0.6  # what an issue of a critique of severity 0.6 weighs
LEAST: Final = 2
LEAST_OF_A_GROUP: Final = 3
_OF_CONTENT: Final = frozenset({"full", "partial"})


@dataclass(frozen=True, slots=True)
class ClaimConsensus:
    """How those who voted stand to one claim.

    Attributes:
        claim_id: of the claim.
        agreed: a strict majority of those who take a position is for it: of at least three in a group, else of two.
        agreement_ratio: (supporting + consenting) / all who take a position, in [0, 1]; 0 when nobody does.
        supporting_agents: who gave evidence for it and does not dissent, sorted.
        dissenting_agents: who has a full or partial dissent from it, or whose last evidence against it is stronger than
            0.48, sorted.
        consenting: how many others voted, did not abstain, and did not dissent from it.
        net_evidence_strength: the claim's, in [-1, 1].
    """

    claim_id: str
    agreed: bool
    agreement_ratio: float
    supporting_agents: list[str]
    dissenting_agents: list[str]
    consenting: int
    net_evidence_strength: float


def partial_consensus(
    claims: Sequence[Claim], votes: Iterable[ConsensusVote], dissents: Iterable[DissentRecord], kind: object
) -> list[ClaimConsensus]:
    """Return where every claim that stands is, in the order of `claims`; the cost is linear.

    Args:
        claims: of the proof.
        votes: of the proof; sources of evidence that did not vote, such as tools, take no position.
        dissents: of the proof.
        kind: `group` or `debate`, as the proof's metadata say; in a debate a proposal takes the place of its author's
            earlier ones.
    """
    cast = counted(votes)
    voters = {vote.agent: vote.vote is not VoteType.ABSTAIN for vote in cast}
    positions = sum(voters.values())
    objecting: dict[str, set[str]] = defaultdict(set)
    for dissent in dissents:
        if dissent.dissent_type in _OF_CONTENT:
            objecting[dissent.claim_id].add(dissent.agent)
    least = LEAST_OF_A_GROUP if kind == "group" else LEAST
    return [
        _stand(claim, voters, positions, objecting.get(claim.claim_id, ()), least)
        for claim in _standing(claims, replaced=kind == "debate")
    ]


def _stand(
    claim: Claim, voters: dict[str, bool], positions: int, objecting: Collection[str], least: int
) -> ClaimConsensus:
    last = {item.source: item.strength for item in claim.refuting_evidence}
    against = {agent for agent, strength in last.items() if strength > GRAVE_EVIDENCE}
    dissenting = {agent for agent in against | set(objecting) if agent in voters}
    supporting = {item.source for item in claim.supporting_evidence if item.source in voters} - dissenting
    consenting = positions - sum(voters[agent] for agent in dissenting | supporting)
    agreeing = len(supporting) + consenting
    asked = agreeing + len(dissenting)
    return ClaimConsensus(
        claim_id=claim.claim_id,
        agreed=asked >= least and 2 * agreeing > asked,
        agreement_ratio=agreeing / asked if asked else 0.0,
        supporting_agents=sorted(supporting),
        dissenting_agents=sorted(dissenting),
        consenting=consenting,
        net_evidence_strength=claim.net_evidence_strength,
    )


def _standing(claims: Sequence[Claim], *, replaced: bool) -> Iterator[Claim]:
    """Yield the claims that are active and that no later one takes the place of."""
    revised = {claim.parent_claim_id for claim in claims}
    latest = {claim.author: claim.claim_id for claim in claims}
    for claim in claims:
        stands = claim.status == "active" and claim.claim_id not in revised
        if stands and not (replaced and latest[claim.author] != claim.claim_id):
            yield claim
