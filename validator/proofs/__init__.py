"""Consensus proofs of groups and of debates, sealed so that anyone can check them (SPEC 14). Pure.

Touches nothing. Called by kinds, audit and `validator proof`.
"""

from validator.proofs.builder import ConsensusBuilder
from validator.proofs.consensus_proof import ClaimConsensus, ConsensusProof
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
from validator.proofs.proof_rules import Doubt
from validator.proofs.records import (
    Claim,
    ConsensusVote,
    DissentRecord,
    Evidence,
    ProofError,
    UnknownClaimError,
    UnresolvedTension,
    VoteType,
)

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
