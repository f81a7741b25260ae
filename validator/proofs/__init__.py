"""Consensus proofs of groups and of debates, sealed so that anyone can check them (SPEC 14). Pure."""

from validator.proofs.builder import ConsensusBuilder
from validator.proofs.checks import ProofError, UnknownClaimError
from validator.proofs.debate import Debate, DebateError, debate_proof, parse_debate
from validator.proofs.document import (
    NotAProofError,
    TouchedError,
    Verified,
    document_bytes,
    proof_document,
    seal,
    verify_document,
)
from validator.proofs.holding import Doubt
from validator.proofs.partial import ClaimConsensus
from validator.proofs.proof import ConsensusProof
from validator.proofs.records import Claim, ConsensusVote, DissentRecord, Evidence, UnresolvedTension, VoteType

__all__ = [
    "Claim",
    "ClaimConsensus",
    "ConsensusBuilder",
    "ConsensusProof",
    "ConsensusVote",
    "Debate",
    "DebateError",
    "DissentRecord",
    "Doubt",
    "Evidence",
    "NotAProofError",
    "ProofError",
    "TouchedError",
    "UnknownClaimError",
    "UnresolvedTension",
    "Verified",
    "VoteType",
    "debate_proof",
    "document_bytes",
    "parse_debate",
    "proof_document",
    "seal",
    "verify_document",
]
