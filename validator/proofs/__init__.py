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
from validator.proofs.proof import ConsensusProof
from validator.proofs.records import Claim, ConsensusVote, DissentRecord, Evidence, UnresolvedTension, VoteType

__all__ = [
    "Claim",
    "ConsensusBuilder",
    "ConsensusProof",
    "ConsensusVote",
    "Debate",
    "DebateError",
    "DissentRecord",
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
