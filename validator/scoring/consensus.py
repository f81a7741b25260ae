"""The seven-component consensus score (SPEC 4)."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from validator.protocol.answer import Role
from validator.protocol.round import Components
from validator.protocol.scoring_version import AUDITOR_SLOTS, COMPONENT_WEIGHTS
from validator.scoring.claims import Claims, group_claims
from validator.scoring.means import mean


class Member(NamedTuple):
    """A member of a group with a valid SSSA."""

    hotkey: str
    role: Role
    claims: Claims


class MemberConsensus(NamedTuple):
    """One member's scores; `components` is None when consensus is off, agreements None without a counterpart."""

    components: Components | None
    consensus: float
    with_primaries: float | None
    with_auditors: float | None


def recall(mine: AbstractSet[Any], group: AbstractSet[Any]) -> float:
    """Return |m ∩ g| / |g|; 1 when g is empty."""
    return len(mine & group) / len(group) if group else 1.0


def findings_precision(mine: AbstractSet[str], group: AbstractSet[str]) -> float:
    """Return |m ∩ g| / |m|; when m is empty 1 if g is empty, else 0 (D-4)."""
    if not mine:
        return 0.0 if group else 1.0
    return len(mine & group) / len(mine)


def verdict_agreement(mine: str, group: str) -> float:
    """Return 1 for the group's verdict, else 0.5 for REVIEW, else 0."""
    if mine == group:
        return 1.0
    return 0.5 if mine == "REVIEW" else 0.0


def jaccard(mine: AbstractSet[Any], group: AbstractSet[Any]) -> float:
    """Return |m ∩ g| / |m ∪ g|; 1 when both are empty."""
    return len(mine & group) / len(mine | group) if mine or group else 1.0


def risk_agreement(mine: float, group_mean: float) -> float:
    """Return max(0, 1 - |risk - mean|)."""
    return max(0.0, 1.0 - abs(mine - group_mean))


def dependencies_agreement(mine: Claims, group: Claims) -> float:
    """Return half the recall of (package, version) plus half that of (package, version, CVE); an empty g counts 1."""
    return 0.5 * recall(mine.dependencies, group.dependencies) + 0.5 * recall(mine.cves, group.cves)


def components(mine: Claims, group: Claims) -> Components:
    """Return the seven components of `mine` against `group`; symmetric use gives the pairwise ones (SPEC 4)."""
    return Components(
        findings_recall=recall(mine.findings, group.findings),
        findings_precision=findings_precision(mine.findings, group.findings),
        verdict_agreement=verdict_agreement(mine.verdict, group.verdict),
        capabilities_agreement=jaccard(mine.capabilities, group.capabilities),
        risk_agreement=risk_agreement(mine.risk, group.risk),
        dependencies_agreement=dependencies_agreement(mine, group),
        policy_agreement=jaccard(mine.rules, group.rules),
    )


class Contribution(NamedTuple):
    """One component's part of the score: `weight * value`."""

    name: str
    weight: float
    value: float
    contribution: float


def contributions(parts: Components) -> tuple[Contribution, ...]:
    """Return what each component adds, in the table's order (SPEC 4)."""
    values = [(name, weight, float(getattr(parts, name))) for name, weight in COMPONENT_WEIGHTS]
    return tuple(Contribution(name, weight, value, weight * value) for name, weight, value in values)


def consensus_score(parts: Components) -> float:
    """Return the weighted sum of the components, from left to right in the table's order (SPEC 4)."""
    score = 0.0
    for part in contributions(parts):
        score += part.contribution
    return score


def pairwise_agreement(a: Claims, b: Claims) -> float:
    """Return the consensus score of `a` with `b` standing in for the group (SPEC 4)."""
    return consensus_score(components(a, b))


def auditor_agreement(members: Sequence[Member]) -> float | None:
    """Return how far the two auditors agree, the mean of both directions; None unless both are valid (D-14)."""
    auditors = [m.claims for m in members if m.role == "auditor"]
    if len(auditors) != AUDITOR_SLOTS:
        return None
    first, second = auditors
    return mean([pairwise_agreement(first, second), pairwise_agreement(second, first)])


def score_members(members: Sequence[Member]) -> tuple[Claims | None, tuple[MemberConsensus, ...]]:
    """Return the group's claims and each valid member's scores, in the order given (SPEC 4, D-3).

    Below 3 valid members there is no group: consensus is 1.0 without components; agreements are computed all the
    same.
    """
    group = group_claims([m.claims for m in members])
    return group, tuple(_score_member(i, members, group) for i in range(len(members)))


def _score_member(index: int, members: Sequence[Member], group: Claims | None) -> MemberConsensus:
    own = members[index].claims
    parts = components(own, group) if group else None
    others = [*members[:index], *members[index + 1 :]]
    return MemberConsensus(
        components=parts,
        consensus=consensus_score(parts) if parts else 1.0,
        with_primaries=_agreement_with(own, others, "primary"),
        with_auditors=_agreement_with(own, others, "auditor"),
    )


def _agreement_with(own: Claims, others: Sequence[Member], role: Role) -> float | None:
    agreements = [pairwise_agreement(own, other.claims) for other in others if other.role == role]
    return mean(agreements) if agreements else None
