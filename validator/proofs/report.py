"""A consensus proof as a Markdown report; everything from outside is escaped."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from validator.proofs.consensus import Consensus
from validator.proofs.markdown import code, escaped
from validator.proofs.records import ConsensusVote, DissentRecord, Evidence, UnresolvedTension

_REASONING: Final = 200
_CONTENT: Final = 300
_LISTED: Final = 20
_INTERPRETATION: Final = (
    ("unanimous", "very high confidence"),
    ("majority", "good confidence"),
    ("contested", "requires further analysis"),
)


def markdown(proof: Consensus) -> str:
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
        dissents(proof.dissents),
        tensions(proof.unresolved_tensions),
        "## Partial Consensus",
        *_partial(proof),
        "## Blind Spots",
        _listed(proof.get_blind_spots()) or "*None*",
        "## Risk Correlation",
        *_correlation(proof.get_risk_correlation()),
        "## Reasoning Summary",
        escaped(proof.reasoning_summary),
        "## Evidence Chain",
        _chain(proof.evidence_chain),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def dissents(records: Sequence[DissentRecord]) -> str:
    """Return the section of dissenting views, or the line that there are none."""
    if not records:
        return "No dissenting views recorded."
    return "\n\n".join(["## Dissenting Views", *(part for record in records for part in _dissent(record))])


def tensions(records: Sequence[UnresolvedTension]) -> str:
    """Return the section of unresolved tensions, or the line that there are none."""
    if not records:
        return "No unresolved tensions."
    return "\n\n".join(["## Unresolved Tensions", *(part for record in records for part in _tension(record))])


def _head(proof: Consensus) -> Iterator[str]:
    yield "# Consensus Proof"
    yield f"**Proof ID:** {code(proof.proof_id)}"
    yield f"**Debate ID:** {code(proof.debate_id)}"
    yield f"**Checksum:** {code(proof.checksum)}"
    yield f"**Created:** {escaped(proof.created_at)}"
    yield "## Task"
    yield escaped(proof.task)


def _consensus(proof: Consensus) -> Iterator[str]:
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


def _correlation(found: dict[str, list[str]]) -> Iterator[str]:
    for name, meaning in _INTERPRETATION:
        yield f"**{name.capitalize()}** ({meaning}): {len(found[name])}"
        yield _listed(found[name])


def _partial(proof: Consensus) -> Iterator[str]:
    """Yield on how many claims there is agreement, and a row for every claim, also for those that were replaced."""
    stands = {one.claim_id: one for one in proof.get_partial_consensus()}
    if not proof.claims:
        yield "*None*"
        return
    agreed = sum(one.agreed for one in stands.values())
    contested = "" if proof.consensus_reached else "; the whole is contested"
    yield f"Agreed: {agreed} of {len(stands)} claims{contested}."
    rows = ["| Agreed | For | Consenting | Against | Net evidence strength | Claim |", "|---|---:|---:|---:|---:|---|"]
    for claim in proof.claims:
        one = stands.get(claim.claim_id)
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
