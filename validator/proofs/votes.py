"""What follows from votes: who counts, the agent lists, the confidence (SPEC 14)."""

import math
from collections.abc import Iterable
from typing import Final

from validator.proofs.records import ConsensusVote, VoteType

SUPPORTING: Final = (VoteType.AGREE, VoteType.CONDITIONAL)
DISSENTING: Final = (VoteType.DISAGREE,)


def counted(votes: Iterable[ConsensusVote]) -> list[ConsensusVote]:
    """Return the last vote of each agent, in the order of those votes."""
    last: dict[str, ConsensusVote] = {}
    for vote in votes:
        last.pop(vote.agent, None)
        last[vote.agent] = vote
    return list(last.values())


def agents_of(votes: Iterable[ConsensusVote], kinds: Iterable[VoteType]) -> list[str]:
    """Return who cast a vote of these kinds, sorted."""
    wanted = frozenset(kinds)
    return sorted(vote.agent for vote in votes if vote.vote in wanted)


def weighted_confidence(votes: Iterable[ConsensusVote]) -> float:
    """Return sum w*c / sum w, in [0, 1]; 0 without votes or without weight (SPEC 14)."""
    cast = list(votes)
    total = math.fsum(vote.weight for vote in cast)
    # The quotient can exceed 1 by a rounding.
    return min(1.0, math.fsum(vote.weight * vote.confidence for vote in cast) / total) if total else 0.0
