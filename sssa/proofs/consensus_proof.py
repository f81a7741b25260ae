"""The consensus proof: its fields, what follows from them, and its forms as data, JSON and a report (SPEC 14)."""

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from sssa.proofs.records import (
    EPOCH,
    Claim,
    ConsensusVote,
    DissentRecord,
    Evidence,
    ProofError,
    UnresolvedTension,
    VoteType,
    counted,
    flag,
    plain,
    records,
    text,
    texts,
    unit,
    weighted_confidence,
    whole,
)
from sssa.protocol.text import printable

# Between letters and digits an underscore means nothing; escaping it there would only make the source hard to read.
_MARKS: Final = re.compile(r"[\\`*\[\]<>|~&$@]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|:(?=//)|(?<=www)\.", re.IGNORECASE)
_AT_START: Final = re.compile(r"\A([#+=-]|[0-9]{1,9}(?=[.)]))")
_BREAKS: Final = re.compile(r"[\s\x1c-\x1f\x85]+")
_SPAN: Final = re.compile(r"[!-_a-~]([ -_a-~]{0,198}[!-_a-~])?")  # printable ASCII but the mark that ends a span


def escaped(text: str, limit: int | None = None) -> str:
    r"""Return `text` as one line of Markdown that renders as the text itself.

    Runs of white space, line breaks among them, become one space; what does not print (control characters, marks of
    direction, zero width) becomes `\\uXXXX`. Headings, lists, HTML, links, images, code, tables and emphasis stay text.

    Args:
        text: anything.
        limit: most code points shown, an ellipsis after them; None for all.
    """
    line = _BREAKS.sub(" ", text).strip()
    shown = printable(line, len(line) if limit is None else limit)
    return _AT_START.sub(_escaped_start, _MARKS.sub(r"\\\g<0>", shown))


def code(text: str) -> str:
    """Return `text` as a code span where that shows all of it as it is, else escaped; not for cells of a table."""
    return f"`{text}`" if _SPAN.fullmatch(text) else escaped(text)


def _escaped_start(match: re.Match[str]) -> str:
    # A number is harmless without the point after it, which is not part of the match.
    return f"{match[0]}\\" if match[0].isdigit() else f"\\{match[0]}"


GRAVE_EVIDENCE: Final = 0.8 * 0.6  # what an issue of a critique of severity 0.6 weighs
LEAST: Final = 2
LEAST_OF_A_GROUP: Final = 3
_OF_CONTENT: Final = frozenset({"full", "partial"})


@dataclass(frozen=True, slots=True)
class ClaimConsensus:
    """The positions of those who voted to one claim.

    Attributes:
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
    """Return the consensus on each claim, in the order of `claims`; the cost is linear.

    Sources of evidence that did not vote, such as tools, take no position. `kind` is `group` or `debate`, as the
    proof's metadata say; in a debate a proposal takes the place of its author's earlier ones.
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
        _claim_consensus(claim, voters, positions, objecting.get(claim.claim_id, ()), least)
        for claim in _current_claims(claims, replaced=kind == "debate")
    ]


def _claim_consensus(
    claim: Claim, voters: dict[str, bool], positions: int, objecting: Collection[str], least: int
) -> ClaimConsensus:
    last = {item.source: item.strength for item in claim.refuting_evidence}
    against = {agent for agent, strength in last.items() if strength > GRAVE_EVIDENCE}
    dissenting = {agent for agent in against | set(objecting) if agent in voters}
    supporting = {item.source for item in claim.supporting_evidence if item.source in voters} - dissenting
    consenting = positions - sum(voters[agent] for agent in dissenting | supporting)
    agreeing = len(supporting) + consenting
    total = agreeing + len(dissenting)
    return ClaimConsensus(
        claim_id=claim.claim_id,
        agreed=total >= least and 2 * agreeing > total,
        agreement_ratio=agreeing / total if total else 0.0,
        supporting_agents=sorted(supporting),
        dissenting_agents=sorted(dissenting),
        consenting=consenting,
        net_evidence_strength=claim.net_evidence_strength,
    )


def _current_claims(claims: Sequence[Claim], *, replaced: bool) -> Iterator[Claim]:
    """Yield the active claims that no later one replaces."""
    revised = {claim.parent_claim_id for claim in claims}
    latest = {claim.author: claim.claim_id for claim in claims}
    for claim in claims:
        current = claim.status == "active" and claim.claim_id not in revised
        if current and not (replaced and latest[claim.author] != claim.claim_id):
            yield claim


_REASONING: Final = 200
_CONTENT: Final = 300
_LISTED: Final = 20
_INTERPRETATION: Final = (
    ("unanimous", "very high confidence"),
    ("majority", "good confidence"),
    ("contested", "requires further analysis"),
)
DERIVED: Final = ("checksum", "agreement_ratio", "has_strong_consensus", "partial_consensus")
PROOF_VERSION: Final = "1.1"
STRONG_RATIO: Final = 0.8
STRONG_CONFIDENCE: Final = 0.7
GRAVE_DISSENT: Final = 0.7
LOW_RATIO: Final = 0.6
UNANIMOUS: Final = 0.9
MAJORITY: Final = 0.6
_CHECKSUM_DIGITS: Final = 16


@dataclass(slots=True)
class ConsensusProof:
    """The answer of a group or a debate, with votes, dissents and evidence (ProofError: a value out of range).

    Attributes:
        proof_id: `proof-<debate>`.
        debate_id: the debate, or the task of a group.
        confidence: in [0, 1].
        consensus_reached: whether there is an answer of the whole.
        votes: one per agent.
        supporting_agents: who voted agree or conditional; `dissenting_agents`: who voted disagree.
        evidence_chain: all evidence, in the order it came.
        created_at: ISO 8601, UTC.
        rounds_to_consensus: rounds of the debate.
        proof_version: `1.1`, the form that it is written in.
        confidence_given: whether the confidence is not the votes' mean; None, where a proof is made, finds out.
    """

    proof_id: str
    debate_id: str
    task: str
    final_claim: str
    confidence: float
    consensus_reached: bool
    votes: list[ConsensusVote]
    supporting_agents: list[str]
    dissenting_agents: list[str]
    claims: list[Claim]
    dissents: list[DissentRecord]
    unresolved_tensions: list[UnresolvedTension]
    evidence_chain: list[Evidence]
    reasoning_summary: str
    created_at: str = EPOCH
    rounds_to_consensus: int = 0
    metadata: dict[str, Any] = field(default_factory=dict)
    proof_version: str = PROOF_VERSION
    confidence_given: bool | None = None

    def __post_init__(self) -> None:
        for name in ("proof_id", "debate_id", "task", "final_claim", "reasoning_summary", "created_at"):
            text(getattr(self, name), name)
        self.supporting_agents = texts(self.supporting_agents, "supporting_agents")
        self.dissenting_agents = texts(self.dissenting_agents, "dissenting_agents")
        flag(self.consensus_reached, "consensus_reached")
        whole(self.rounds_to_consensus, "rounds_to_consensus")
        records(self.votes, "votes", ConsensusVote)
        records(self.claims, "claims", Claim)
        records(self.dissents, "dissents", DissentRecord)
        records(self.unresolved_tensions, "unresolved_tensions", UnresolvedTension)
        records(self.evidence_chain, "evidence_chain", Evidence)
        self.confidence = unit(self.confidence, "confidence")
        self.metadata = plain(self.metadata, "metadata")
        if self.proof_version != PROOF_VERSION:
            raise ProofError(f"proof_version must be {PROOF_VERSION}")
        if self.confidence_given is None:
            self.confidence_given = self.confidence != weighted_confidence(self.votes)
        flag(self.confidence_given, "confidence_given")

    @property
    def checksum(self) -> str:
        """16 hex digits over final claim, votes and claims; computed anew each time (SPEC 14)."""
        return checksum_of(self.final_claim, msgspec.to_builtins(self.votes), msgspec.to_builtins(self.claims))

    @property
    def agreement_ratio(self) -> float:
        """Supporting / (supporting + dissenting) agents, in [0, 1]; 0 when there are neither."""
        supporting = len(self.supporting_agents)
        both = supporting + len(self.dissenting_agents)
        return supporting / both if both else 0.0

    @property
    def has_strong_consensus(self) -> bool:
        """Reached, ratio > 0.8 and confidence > 0.7, all strict; a group reaches it only with 3 valid members."""
        return self.consensus_reached and self.agreement_ratio > STRONG_RATIO and self.confidence > STRONG_CONFIDENCE

    def get_confidence_breakdown(self) -> dict[str, float]:
        """Return each voter's confidence; of an agent that voted twice, the last."""
        return {vote.agent: vote.confidence for vote in self.votes}

    def get_blind_spots(self) -> list[str]:
        """Return possible blind spots as plain text: grave dissents with an alternative, tensions, a low ratio."""
        spots = [
            f"Alternative view of {dissent.agent}: {dissent.alternative_view}"
            for dissent in self.dissents
            if dissent.severity >= GRAVE_DISSENT and dissent.alternative_view
        ]
        spots += [f"Unresolved: {tension.description}" for tension in self.unresolved_tensions]
        if self.agreement_ratio < LOW_RATIO:
            spots.append(f"Low consensus: an agreement ratio of {self.agreement_ratio:.4f} leaves room for other views")
        return spots

    def get_risk_correlation(self) -> dict[str, list[str]]:
        """Return statements, plain text, by the share of evidence items that support them (SPEC 14).

        Keys are unanimous (at least 0.9), majority (at least 0.6) and contested, where tensions stand too. Claims
        without evidence are left out.
        """
        statements: dict[str, list[str]] = {"unanimous": [], "majority": [], "contested": []}
        for claim in self.claims:
            supporting = len(claim.supporting_evidence)
            items = supporting + len(claim.refuting_evidence)
            if items:
                statements[_correlation(supporting / items)].append(claim.statement)
        statements["contested"] += [tension.description for tension in self.unresolved_tensions]
        return statements

    def get_partial_consensus(self) -> list[ClaimConsensus]:
        """Return who is for and who is against every active claim, and whether it is agreed on (SPEC 14)."""
        return partial_consensus(self.claims, self.votes, self.dissents, self.metadata.get("kind"))

    def get_dissent_summary(self) -> str:
        """Return the dissenting views as a Markdown section, or one line that there are none."""
        if not self.dissents:
            return "No dissenting views recorded."
        return "\n\n".join(["## Dissenting Views", *(part for one in self.dissents for part in _dissent(one))])

    def get_tension_summary(self) -> str:
        """Return the unresolved tensions as a Markdown section, or one line that there are none."""
        if not self.unresolved_tensions:
            return "No unresolved tensions."
        parts = (part for one in self.unresolved_tensions for part in _tension(one))
        return "\n\n".join(["## Unresolved Tensions", *parts])

    def to_dict(self) -> dict[str, Any]:
        """Return JSON data: every field by its name, enums by value, and what follows from them (`DERIVED`)."""
        data: dict[str, Any] = msgspec.to_builtins(self)
        data["checksum"] = checksum_of(data["final_claim"], data["votes"], data["claims"])
        return data | {
            "agreement_ratio": self.agreement_ratio,
            "has_strong_consensus": self.has_strong_consensus,
            "partial_consensus": msgspec.to_builtins(self.get_partial_consensus()),
        }

    def to_json(self, indent: int | None = 2) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=indent)

    def to_markdown(self) -> str:
        """Return a report for people; text from outside is escaped and shows as text."""
        return _report(self)


def checksum_of(final_claim: str, votes: list[Any], claims: list[Any]) -> str:
    """Return the checksum of a proof from its parts as JSON data."""
    parts = {"final_claim": final_claim, "votes": votes, "claims": claims}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:_CHECKSUM_DIGITS]


def _correlation(share: float) -> str:
    return "unanimous" if share >= UNANIMOUS else "majority" if share >= MAJORITY else "contested"


def _report(proof: ConsensusProof) -> str:
    """Return the whole report; it ends with a line break."""
    parts = [
        *_head(proof),
        *_consensus(proof),
        "### Votes",
        *_votes(proof.votes),
        "### Supporting Agents",
        _agents(proof.supporting_agents, proof.votes),
        "### Dissenting Agents",
        _agents(proof.dissenting_agents, proof.votes),
        proof.get_dissent_summary(),
        proof.get_tension_summary(),
        "## Partial Consensus",
        *_partial(proof),
        "## Blind Spots",
        _listed(proof.get_blind_spots()) or "*None*",
        "## Risk Correlation",
        *_correlation_lines(proof.get_risk_correlation()),
        "## Reasoning Summary",
        escaped(proof.reasoning_summary),
        "## Evidence Chain",
        _chain(proof.evidence_chain),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _head(proof: ConsensusProof) -> Iterator[str]:
    yield "# Consensus Proof"
    yield f"**Proof ID:** {code(proof.proof_id)}"
    yield f"**Debate ID:** {code(proof.debate_id)}"
    yield f"**Checksum:** {code(proof.checksum)}"
    yield f"**Created:** {escaped(proof.created_at)}"
    yield "## Task"
    yield escaped(proof.task)


def _consensus(proof: ConsensusProof) -> Iterator[str]:
    strength = "strong" if proof.has_strong_consensus else "not strong"
    yield "## Consensus"
    yield f"**Status:** {'reached, ' + strength if proof.consensus_reached else 'not reached'}"
    yield f"**Confidence:** {proof.confidence:.4f}"
    yield f"**Agreement ratio:** {proof.agreement_ratio:.4f}"
    yield f"**Rounds:** {proof.rounds_to_consensus}"
    yield "### Final Claim"
    yield f"> {escaped(proof.final_claim)}"


def _votes(votes: Sequence[ConsensusVote]) -> Iterator[str]:
    if not votes:
        yield "*None*"
        return
    rows = ["| Agent | Vote | Confidence | Weight | Conditions |", "|---|---|---:|---:|---|"]
    for vote in votes:
        conditions = "; ".join(escaped(condition, _REASONING) for condition in vote.conditions)
        cells = (escaped(vote.agent), vote.vote, f"{vote.confidence:.4f}", f"{vote.weight:.4f}", conditions)
        rows.append(f"| {' | '.join(cells)} |")
    yield "\n".join(rows)


def _agents(agents: Sequence[str], votes: Iterable[ConsensusVote]) -> str:
    reasoning = {vote.agent: f": {escaped(vote.reasoning, _REASONING)}" for vote in votes if vote.reasoning}
    return "\n".join(f"- {_bold(agent)}{reasoning.get(agent, '')}" for agent in agents) or "*None*"


def _dissent(record: DissentRecord) -> Iterator[str]:
    yield f"### {escaped(record.agent)}"
    yield f"**Type:** {escaped(record.dissent_type)}"
    yield f"**Claim:** {code(record.claim_id)}"
    yield f"**Severity:** {record.severity:.4f}"
    if record.reasons:
        yield "**Reasons:**"
        yield _listed(record.reasons)
    if record.alternative_view:
        yield f"**Alternative view:** {escaped(record.alternative_view)}"
    if record.suggested_resolution:
        yield f"**Suggested resolution:** {escaped(record.suggested_resolution)}"


def _tension(record: UnresolvedTension) -> Iterator[str]:
    yield f"### {escaped(record.description)}"
    yield f"**Involves:** {', '.join(map(escaped, record.agents_involved))}"
    if record.options:
        yield "**Options:**"
        yield _listed(record.options)
    yield f"**Impact:** {escaped(record.impact)}"
    if record.suggested_followup:
        yield f"**Suggested followup:** {escaped(record.suggested_followup)}"


def _correlation_lines(statements: dict[str, list[str]]) -> Iterator[str]:
    for name, meaning in _INTERPRETATION:
        yield f"**{name.capitalize()}** ({meaning}): {len(statements[name])}"
        yield _listed(statements[name])


def _partial(proof: ConsensusProof) -> Iterator[str]:
    """Yield the number of agreed claims, and a row per claim, replaced ones included."""
    by_claim = {one.claim_id: one for one in proof.get_partial_consensus()}
    if not proof.claims:
        yield "*None*"
        return
    agreed = sum(one.agreed for one in by_claim.values())
    contested = "" if proof.consensus_reached else "; the whole is contested"
    yield f"Agreed: {agreed} of {len(by_claim)} claims{contested}."
    rows = ["| Agreed | For | Consenting | Against | Net evidence strength | Claim |", "|---|---:|---:|---:|---:|---|"]
    for claim in proof.claims:
        one = by_claim.get(claim.claim_id)
        cells = ["replaced", "", "", ""]
        if one is not None:
            counts = (len(one.supporting_agents), one.consenting, len(one.dissenting_agents))
            cells = ["yes" if one.agreed else "no", *map(str, counts)]
        cells += [f"{claim.net_evidence_strength:+.4f}", escaped(claim.statement, _CONTENT)]
        rows.append(f"| {' | '.join(cells)} |")
    yield "\n".join(rows)


def _chain(items: Sequence[Evidence]) -> str:
    lines = []
    for number, item in enumerate(items, 1):
        sign = "+" if item.supports_claim else "−"
        lines.append(f"{number}. ({sign}) {_bold(item.source)}, {escaped(item.evidence_type)}: ")
        lines[-1] += escaped(item.content, _CONTENT)
    return "\n".join(lines) or "*None*"


def _bold(text: str) -> str:
    shown = escaped(text)
    return f"**{shown}**" if shown else "**–**"


def _listed(texts: Sequence[str]) -> str:
    lines = [f"- {escaped(text)}" for text in texts[:_LISTED]]
    if len(texts) > _LISTED:
        lines.append(f"- … {len(texts) - _LISTED} more")
    return "\n".join(lines)
