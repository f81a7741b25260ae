"""A proof held to its own votes and evidence: what does not follow from them, and what nobody can tell (SPEC 14)."""

from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple

import msgspec

from validator.proofs.consensus import Consensus
from validator.proofs.differences import first_difference, shown
from validator.proofs.groups import group_faults
from validator.proofs.votes import DISSENTING, SUPPORTING, agents_of, weighted_confidence

DISSENT_TYPES: Final = ("full", "partial", "procedural")
_LISTS: Final = (("supporting_agents", SUPPORTING), ("dissenting_agents", DISSENTING))


class Doubt(NamedTuple):
    """Something about a proof that does not follow.

    Attributes:
        place: path of the field.
        what: what stands there and what follows, printable.
        level: `wrong` refuses the proof; `unknown` cannot be recomputed from what the proof has; `odd` is against the
            form, in the proof of another producer.
    """

    place: str
    what: str
    level: Literal["wrong", "unknown", "odd"]


def doubts(proof: Consensus) -> Iterator[Doubt]:
    """Yield what does not follow in a proof, fields in the order of SPEC 14; the cost is linear.

    A proof whose metadata have `kind` group, workflow or debate is made by this program and has all that is needed.
    Another producer's may lack votes, name an agent's earlier votes or bring a confidence of its own: what then cannot
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


def divided_evidence(proof: Consensus) -> tuple[str, str] | None:
    """Return the place of the first evidence that its claim and the chain tell differently, and what is wrong."""
    chain = {item.evidence_id: item for item in proof.evidence_chain}
    for i, claim in enumerate(proof.claims):
        for side, supports in (("supporting_evidence", True), ("refuting_evidence", False)):
            for j, item in enumerate(getattr(claim, side)):
                place, other = f"claims[{i}].{side}[{j}]", chain.get(item.evidence_id)
                if other is None:
                    return f"{place}.evidence_id", "is not what the evidence chain says"
                if other != item:
                    found = first_difference(msgspec.to_builtins(item), msgspec.to_builtins(other), place)
                    return found.place if found else place, "is not what the evidence chain says"
                if item.supports_claim is not supports:
                    return f"{place}.supports_claim", f"is {shown(not supports)}, the list it is in gives the opposite"
    return None


def _lists(proof: Consensus, *, own: bool) -> Iterator[Doubt]:
    unknown: Literal["wrong", "unknown"] = "wrong" if own else "unknown"
    again = _second_vote(proof)
    if again is not None:
        what = f"{shown(proof.votes[again].agent)} has voted before: the agent lists cannot be recomputed"
        yield Doubt(f"votes[{again}].agent", what, unknown)
        return
    for name, kinds in _LISTS:
        stands: Sequence[str] = getattr(proof, name)
        if not proof.votes and stands:
            yield Doubt(name, "cannot be recomputed: the proof has no votes", unknown)
            continue
        # Only this program promises an order.
        listed, follows = list(stands) if own else sorted(stands), agents_of(proof.votes, kinds)
        found = first_difference(listed, follows, name)
        if found is not None:
            yield Doubt(found.place if own else name, f"{found.told} from the votes", "wrong")


def _second_vote(proof: Consensus) -> int | None:
    seen: set[str] = set()
    for i, vote in enumerate(proof.votes):
        if vote.agent in seen:
            return i
        seen.add(vote.agent)
    return None


def _confidence(proof: Consensus, *, may_be_given: bool) -> Iterator[Doubt]:
    mean = weighted_confidence(proof.votes)
    if proof.confidence == mean:
        if proof.confidence_given:
            yield Doubt("confidence_given", "is true, but the confidence is the mean of the votes", "wrong")
    elif proof.confidence_given and may_be_given:
        what = f"{proof.confidence!r} was given and cannot be recomputed: the votes give {mean!r}"
        yield Doubt("confidence", what, "unknown")
    else:
        yield Doubt("confidence", f"is {proof.confidence!r}, {mean!r} follows from the votes", "wrong")
