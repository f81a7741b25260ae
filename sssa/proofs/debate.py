"""Consensus proofs of debates of any system (SPEC 14), for `validator proof` alone, from a bounded JSON form."""

from collections.abc import Iterable
from typing import Annotated, Final, Literal

from msgspec import Meta

from sssa.proofs.builder import FINAL, ConsensusBuilder
from sssa.proofs.consensus_proof import ConsensusProof
from sssa.proofs.records import EPOCH, MAX_WEIGHT, ProofError, VoteType
from sssa.protocol.limits import MIB
from sssa.protocol.sssa import Document, Unit
from sssa.protocol.strict_json import decode
from sssa.protocol.text import printable
from sssa.protocol.times import parse_time

MAX_DEBATE: Final = 16 * MIB
SUPPORT: Final = 0.6
REFUTE: Final = 0.8
DISAGREE_ABOVE: Final = 0.6
TENSION_ABOVE: Final = 0.7
_OPTION: Final = 200

Name = Annotated[str, Meta(min_length=1, max_length=200)]
DebateId = Annotated[str, Meta(pattern=r"\A[0-9A-Za-z_.:-]{1,128}\Z")]
Text = Annotated[str, Meta(max_length=16_384)]
Lines = Annotated[tuple[Text, ...], Meta(max_length=64)]
Round = Annotated[int, Meta(ge=0, le=1_000_000)]


class Utterance(Document, frozen=True):
    """A proposal or another message. `round` is kept, what is latest follows from the order of the list."""

    agent: Name
    content: Text
    round: Round = 0


class Critique(Document, frozen=True):
    """Criticism by one agent of another's latest proposal; `severity` in [0, 1]."""

    agent: Name
    target: Name
    issues: Lines
    severity: Unit
    suggestions: Lines = ()
    round: Round = 0


class Ballot(Document, frozen=True):
    """An agent's own vote; it replaces the one that its critiques would give it."""

    agent: Name
    vote: Literal["agree", "disagree", "abstain", "conditional"]
    confidence: Unit
    reasoning: Text = ""
    conditions: Lines = ()
    weight: Annotated[float, Meta(ge=0, le=MAX_WEIGHT)] = 1.0


class Debate(Document, frozen=True):
    """A debate that has ended. Lists are in the order of speech; `confidence` null takes the votes' mean."""

    debate_version: Literal["1.0"]
    debate_id: DebateId
    task: Text
    final_claim: Text
    consensus_reached: bool
    proposals: Annotated[tuple[Utterance, ...], Meta(max_length=10_000)] = ()
    messages: Annotated[tuple[Utterance, ...], Meta(max_length=10_000)] = ()
    critiques: Annotated[tuple[Critique, ...], Meta(max_length=10_000)] = ()
    votes: Annotated[tuple[Ballot, ...], Meta(max_length=10_000)] = ()
    confidence: Unit | None = None
    rounds: Round = 0
    reasoning_summary: Text = ""
    timestamp: str = EPOCH


class DebateError(ProofError):
    """The debate cannot be proven."""


def parse_debate(data: bytes) -> Debate:
    """Return the debate in `data` (JsonError: no debate of version 1.0, or over a limit; the text names the field)."""
    debate = decode(data, Debate, limit=MAX_DEBATE)
    parse_time(debate.timestamp, "timestamp")
    return debate


def debate_proof(debate: Debate) -> ConsensusProof:
    """Return the proof of a debate (SPEC 14); agents vote in the order of their names.

    Raises:
        DebateError: there is no statement, or a critique's target has proposed nothing; the text names the field.
    """
    if not (debate.proposals or debate.messages or debate.votes):
        raise DebateError("proposals, messages and votes are all empty: there is nothing to prove")
    builder = ConsensusBuilder(debate.debate_id, debate.task, timestamp=debate.timestamp, metadata={"kind": "debate"})
    claims = _add_claims(builder, debate.proposals)
    for message in debate.messages:
        builder.add_evidence(claims.get(message.agent), message.agent, message.content, strength=SUPPORT)
    for i, critique in enumerate(debate.critiques):
        if critique.target not in claims:
            raise DebateError(
                f"critiques[{i}].target: {printable(critique.target, 100)} has proposed nothing, there is no claim"
            )
        _criticise(builder, critique, claims[critique.target])
    _vote_all(builder, debate, claims)
    return builder.build(
        debate.final_claim, debate.confidence, debate.consensus_reached, debate.reasoning_summary, debate.rounds
    )


def _add_claims(builder: ConsensusBuilder, proposals: Iterable[Utterance]) -> dict[str, str]:
    """Add a claim per proposal; return the id of each agent's latest."""
    latest: dict[str, str] = {}
    for proposal in proposals:
        claim = builder.add_claim(proposal.content, proposal.agent, round_num=proposal.round)
        builder.add_evidence(claim.claim_id, proposal.agent, proposal.content, strength=SUPPORT)
        latest[proposal.agent] = claim.claim_id
    return latest


def _criticise(builder: ConsensusBuilder, critique: Critique, claim_id: str) -> None:
    for issue in critique.issues:
        builder.add_evidence(claim_id, critique.agent, issue, supports=False, strength=REFUTE * critique.severity)
    if critique.severity > TENSION_ABOVE:
        subject = critique.issues[0] if critique.issues else "a grave critique without an issue"
        others = [suggestion[:_OPTION] for suggestion in critique.suggestions[:2]]
        builder.record_tension(
            f"{critique.agent} against {critique.target}: {subject[:_OPTION]}",
            sorted({critique.agent, critique.target}),
            [f"what {critique.target} proposes ({claim_id})", *(others or ["another approach"])],
            f"Severity {critique.severity!r}: whether the proposal stands depends on it.",
        )


def _vote_all(builder: ConsensusBuilder, debate: Debate, claims: dict[str, str]) -> None:
    ballots = {ballot.agent: ballot for ballot in debate.votes}
    critiques = {critique.agent: critique for critique in debate.critiques}
    speakers = {message.agent for message in (*debate.proposals, *debate.messages)}
    for agent in sorted(speakers | ballots.keys() | critiques.keys()):
        critique = critiques.get(agent)
        if agent in ballots:
            _own_vote(builder, ballots[agent], critique)
        elif critique is not None and critique.severity > DISAGREE_ABOVE:
            builder.record_vote(agent, VoteType.DISAGREE, 1.0 - critique.severity, "from its last critique")
            alternative = "; ".join(suggestion[:_OPTION] for suggestion in critique.suggestions[:2]) or None
            builder.record_dissent(
                agent, claims[critique.target], list(critique.issues), "partial", alternative, critique.severity
            )
        else:
            kind = VoteType.AGREE if debate.consensus_reached else VoteType.CONDITIONAL
            severity = critique.severity if critique else 0.0
            confidence = 1.0 - severity if debate.confidence is None else debate.confidence
            builder.record_vote(agent, kind, confidence, "no grave critique at the end")


def _own_vote(builder: ConsensusBuilder, ballot: Ballot, critique: Critique | None) -> None:
    conditions = list(ballot.conditions)
    builder.record_vote(
        ballot.agent, ballot.vote, ballot.confidence, ballot.reasoning, conditions, weight=ballot.weight
    )
    severity = critique.severity if critique else 0.5
    if ballot.vote == "disagree":
        builder.record_dissent(ballot.agent, FINAL, [ballot.reasoning], "full", severity=severity)
    elif ballot.vote == "conditional":
        builder.record_dissent(ballot.agent, FINAL, conditions or [ballot.reasoning], severity=severity)
