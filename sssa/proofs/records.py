"""Records of a consensus proof: evidence, claims, votes, dissents, tensions; validation and vote counts (SPEC 14).

Names, order and defaults of the fields are those that debate systems use. Records are mutable, because a debate grows
and revises its claims; a proof is identified by its checksum and digest, never by identity. Scores are in [0, 1]
and checked when a record is made. Timestamps are ISO 8601 in UTC and come from the caller.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, TypeGuard, TypeVar

from sssa.protocol.errors import ValidatorError
from sssa.protocol.limits import MAX_SAFE_INTEGER

T = TypeVar("T")
MAX_WEIGHT: Final = 1_000_000.0
MAX_DEPTH: Final = 8
EPOCH: Final = "1970-01-01T00:00:00Z"


class ProofError(ValidatorError, ValueError):
    """Invalid value in a consensus proof."""


class UnknownClaimError(ProofError):
    """No claim with this id has been added."""


def unit(value: Any, field: str) -> float:
    """Return `value` as a float in [0, 1] (ProofError: no number, a NaN, or outside; the text names `field`)."""
    return _number(value, field, 1.0)


def weight(value: Any, field: str) -> float:
    """Return `value` as a float in [0, MAX_WEIGHT], as larger ones could overflow a sum (ProofError: names `field`)."""
    return _number(value, field, MAX_WEIGHT)


def text(value: Any, field: str) -> str:
    """Return `value`, which must be a string that UTF-8 can write (ProofError: names `field`)."""
    if _is_ascii(value):
        return value
    if not isinstance(value, str):
        raise ProofError(f"{field} must be a string, not {type(value).__name__}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ProofError(f"{field} holds a lone surrogate") from None
    return value


def optional_text(value: Any, field: str) -> str | None:
    """Return `value`, None or a string that UTF-8 can write (ProofError: something else; the text names `field`)."""
    return None if value is None else text(value, field)


def flag(value: Any, field: str) -> bool:
    """Return `value`, True or False; a word such as "no" would count as yes (ProofError: names `field`)."""
    if not isinstance(value, bool):
        raise ProofError(f"{field} must be true or false, not {type(value).__name__}")
    return value


def whole(value: Any, field: str) -> int:
    """Return `value`, an integer from 0 that JSON carries exactly (ProofError: names `field`)."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ProofError(f"{field} must be a whole number, not {type(value).__name__}")
    if not 0 <= value <= MAX_SAFE_INTEGER:
        raise ProofError(f"{field} must be from 0 to 2**53 - 1")
    return value


def records(values: Any, field: str, kind: type[T]) -> list[T]:
    """Return `values`, which must be a list of `kind`; the same list, so that it can grow on (ProofError)."""
    if not isinstance(values, list):
        raise ProofError(f"{field} must be a list, not {type(values).__name__}")
    for i, value in enumerate(values):
        if not isinstance(value, kind):
            raise ProofError(f"{field}[{i}] must hold {kind.__name__}, not {type(value).__name__}")
    return values


def texts(values: Any, field: str) -> list[str]:
    """Return `values`, a list or tuple of strings, as its own list (ProofError: names the place)."""
    if not isinstance(values, list | tuple):
        raise ProofError(f"{field} must be a list, not {type(values).__name__}")
    return [text(value, f"{field}[{i}]") for i, value in enumerate(values)]


def plain(value: Any, field: str, depth: int = MAX_DEPTH) -> Any:
    """Return `value` as JSON data that reads back as it was written: whole numbers are integers, keys sorted.

    Raises:
        ProofError: no JSON data, nested deeper than `depth`, or a number JSON cannot carry exactly.
    """
    if depth == 0:
        raise ProofError(f"{field} is nested too deeply")
    if isinstance(value, dict):
        for key in value if not all(map(_is_ascii, value)) else ():
            text(key, f"{field}: a key")
        return {
            key: value[key]
            if depth > 1 and _is_ascii(value[key])  # most are; a path for each takes longer than the rest
            else plain(value[key], f"{field}.{key}", depth - 1)
            for key in sorted(value)
        }
    if isinstance(value, list | tuple):
        return [plain(item, f"{field}[{i}]", depth - 1) for i, item in enumerate(value)]
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return _exact(value, field)
    return text(value, field)


def _is_ascii(value: Any) -> TypeGuard[str]:
    return type(value) is str and value.isascii()


def _exact(value: float, field: str) -> float:
    if not math.isfinite(value) or abs(value) > MAX_SAFE_INTEGER:
        raise ProofError(f"{field} must be a number within 2**53")
    return int(value) if value == int(value) else value


def _number(value: Any, field: str, most: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ProofError(f"{field} must be a number, not {type(value).__name__}")
    if not 0 <= value <= most:  # a NaN is in no range
        raise ProofError(f"{field} must be from 0 to {most:g}")
    return float(value) + 0.0  # minus zero is zero, as in RFC 8785


class VoteType(StrEnum):
    """Position of an agent on the final claim."""

    AGREE = "agree"
    DISAGREE = "disagree"
    ABSTAIN = "abstain"
    CONDITIONAL = "conditional"


@dataclass(slots=True)
class Evidence:
    """A reason for a claim or against it (ProofError: a value out of range).

    Attributes:
        evidence_id: unique within the proof.
        source: an agent, a tool or an external reference.
        evidence_type: argument, data, citation, tool_output, or a name of the debate's own.
        supports_claim: False refutes.
        strength: in [0, 1].
        timestamp: ISO 8601, UTC.
    """

    evidence_id: str
    source: str
    content: str
    evidence_type: str
    supports_claim: bool
    strength: float
    timestamp: str = EPOCH
    metadata: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("evidence_id", "source", "content", "evidence_type", "timestamp"):
            text(getattr(self, name), name)
        flag(self.supports_claim, "supports_claim")
        self.strength = unit(self.strength, "strength")
        self.metadata = plain(self.metadata, "metadata")


@dataclass(slots=True)
class Claim:
    """A statement with the evidence for and against it (ProofError: a value out of range).

    Attributes:
        claim_id: unique within the proof.
        author: who claimed it first.
        confidence: in [0, 1].
        round_introduced: round of the debate.
        status: active, revised, withdrawn, merged, or a name of the debate's own.
        parent_claim_id: the claim that it revises.
    """

    claim_id: str
    statement: str
    author: str
    confidence: float
    supporting_evidence: list[Evidence] = field(default_factory=list)
    refuting_evidence: list[Evidence] = field(default_factory=list)
    round_introduced: int = 0
    status: str = "active"
    parent_claim_id: str | None = None

    def __post_init__(self) -> None:
        for name in ("claim_id", "statement", "author", "status"):
            text(getattr(self, name), name)
        optional_text(self.parent_claim_id, "parent_claim_id")
        whole(self.round_introduced, "round_introduced")
        records(self.supporting_evidence, "supporting_evidence", Evidence)
        records(self.refuting_evidence, "refuting_evidence", Evidence)
        self.confidence = unit(self.confidence, "confidence")

    @property
    def net_evidence_strength(self) -> float:
        """(s - r)/(s + r) of the summed strengths, in [-1, 1]; 0 without evidence (SPEC 14)."""
        supporting = refuting = 0.0
        for item in self.supporting_evidence:
            supporting += item.strength
        for item in self.refuting_evidence:
            refuting += item.strength
        total = supporting + refuting
        return (supporting - refuting) / total if total else 0.0


@dataclass(slots=True)
class DissentRecord:
    """One agent's dissent (ProofError: a value out of range).

    Attributes:
        claim_id: from which claim; `final` is the final claim.
        dissent_type: full (complete rejection), partial (major reservations) or procedural (objection to the process).
        alternative_view: what the agent holds instead.
        severity: in [0, 1].
        timestamp: ISO 8601, UTC.
    """

    agent: str
    claim_id: str
    dissent_type: str
    reasons: list[str]
    alternative_view: str | None = None
    suggested_resolution: str | None = None
    severity: float = 0.5
    timestamp: str = EPOCH

    def __post_init__(self) -> None:
        for name in ("agent", "claim_id", "dissent_type", "timestamp"):
            text(getattr(self, name), name)
        for name in ("alternative_view", "suggested_resolution"):
            optional_text(getattr(self, name), name)
        self.reasons = texts(self.reasons, "reasons")
        self.severity = unit(self.severity, "severity")


@dataclass(slots=True)
class UnresolvedTension:
    """A question on which the agents stay divided, with their positions, what depends on it, and how to resolve it."""

    tension_id: str
    description: str
    agents_involved: list[str]
    options: list[str]
    impact: str
    suggested_followup: str | None = None

    def __post_init__(self) -> None:
        for name in ("tension_id", "description", "impact"):
            text(getattr(self, name), name)
        optional_text(self.suggested_followup, "suggested_followup")
        self.agents_involved = texts(self.agents_involved, "agents_involved")
        self.options = texts(self.options, "options")


@dataclass(slots=True)
class ConsensusVote:
    """One agent's vote on the final claim (ProofError: a value out of range).

    Attributes:
        vote: a VoteType, or its value.
        confidence: in [0, 1].
        conditions: the reservations of a conditional vote.
        timestamp: ISO 8601, UTC.
        weight: what the confidence counts, in [0, 1,000,000].
    """

    agent: str
    vote: VoteType
    confidence: float
    reasoning: str
    conditions: list[str] = field(default_factory=list)
    timestamp: str = EPOCH
    weight: float = 1.0

    def __post_init__(self) -> None:
        for name in ("agent", "reasoning", "timestamp"):
            text(getattr(self, name), name)
        try:
            self.vote = VoteType(self.vote)
        except ValueError:
            raise ProofError(f"vote must be one of {', '.join(VoteType)}") from None
        self.conditions = texts(self.conditions, "conditions")
        self.confidence = unit(self.confidence, "confidence")
        self.weight = weight(self.weight, "weight")


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
