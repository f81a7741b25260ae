"""Floor 3: consensus proofs of groups and of debates, sealed so that anyone can check them (SPEC 14). Pure."""

from validator.proofs.builder import ConsensusBuilder
from validator.proofs.checks import ProofError, UnknownClaimError
from validator.proofs.group import group_proof
from validator.proofs.proof import ConsensusProof
from validator.proofs.records import Claim, ConsensusVote, DissentRecord, Evidence, UnresolvedTension, VoteType

__all__ = [
    "Claim",
    "ConsensusBuilder",
    "ConsensusProof",
    "ConsensusVote",
    "DissentRecord",
    "Evidence",
    "ProofError",
    "UnknownClaimError",
    "UnresolvedTension",
    "VoteType",
    "group_proof",
]
