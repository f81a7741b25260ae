"""The seven-component consensus score (SPEC 4)."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from itertools import permutations
from typing import Any

from sssa.protocol.answer import Role
from sssa.protocol.arithmetic import mean
from sssa.protocol.round import Components
from sssa.scoring.scoring_types import Addend, Claims, Member, MemberConsensus
from sssa.scoring.v1.claims import group_claims
from sssa.scoring.v1.rules import ConsensusRules, Ruled


def recall(shared: int, group: int) -> float:
    """Return |m ∩ g| / |g|; 1 when g is empty."""
    return shared / group if group else 1.0


def findings_precision(shared: int, mine: int, group: int) -> float:
    """Return |m ∩ g| / |m|; when m is empty 1 if g is empty, else 0 (D-4)."""
    if not mine:
        return 0.0 if group else 1.0
    return shared / mine


def verdict_agreement(rules: ConsensusRules, mine: str, group: str) -> float:
    """Return 1 for the group's verdict, else a part for REVIEW, else 0."""
    if mine == group:
        return 1.0
    return rules.review if mine == "REVIEW" else 0.0


def jaccard(mine: AbstractSet[Any], group: AbstractSet[Any]) -> float:
    """Return |m ∩ g| / |m ∪ g|; 1 when both are empty."""
    shared = len(mine & group)
    either = len(mine) + len(group) - shared
    return shared / either if either else 1.0


def risk_agreement(mine: float, group_mean: float) -> float:
    """Return max(0, 1 - |risk - mean|)."""
    return max(0.0, 1.0 - abs(mine - group_mean))


def dependencies_agreement(rules: ConsensusRules, mine: Claims, group: Claims) -> float:
    """Return half the recall of (package, version) plus half that of (package, version, CVE); an empty g counts 1."""
    packages = recall(len(mine.dependencies & group.dependencies), len(group.dependencies))
    return rules.packages * packages + rules.cves * recall(len(mine.cves & group.cves), len(group.cves))


def components(rules: ConsensusRules, mine: Claims, group: Claims) -> Components:
    """Return the seven components of `mine` against `group`; symmetric use gives the pairwise ones (SPEC 4)."""
    shared = len(mine.findings & group.findings)
    return Components(
        findings_recall=recall(shared, len(group.findings)),
        findings_precision=findings_precision(shared, len(mine.findings), len(group.findings)),
        verdict_agreement=verdict_agreement(rules, mine.verdict, group.verdict),
        capabilities_agreement=jaccard(mine.capabilities, group.capabilities),
        risk_agreement=risk_agreement(mine.risk, group.risk),
        dependencies_agreement=dependencies_agreement(rules, mine, group),
        policy_agreement=jaccard(mine.rules, group.rules),
    )


def consensus_parts(version: Ruled, parts: Components) -> tuple[Addend, ...]:
    """Return what each component adds, in the table's order (SPEC 4)."""
    weights = version.rules.consensus.components
    values = [(name, weight, float(getattr(parts, name))) for name, weight in weights]
    return tuple(Addend(name, weight, value, weight * value) for name, weight, value in values)


def consensus_score(version: Ruled, parts: Components) -> float:
    """Return the weighted sum of the components, from left to right in the table's order (SPEC 4)."""
    score = 0.0
    for name, weight in version.rules.consensus.components:
        score += weight * getattr(parts, name)
    return score


def pairwise_agreement(version: Ruled, a: Claims, b: Claims) -> float:
    """Return the consensus score of `a` with `b` standing in for the group (SPEC 4)."""
    return consensus_score(version, components(version.rules.consensus, a, b))


def auditor_agreement(version: Ruled, members: Sequence[Member]) -> float | None:
    """Return how far the two auditors agree, the mean of both directions; None unless both are valid (D-14)."""
    auditors = [m.claims for m in members if m.role == "auditor"]
    if len(auditors) != version.rules.groups.auditors:
        return None
    return mean([pairwise_agreement(version, one, other) for one, other in permutations(auditors, 2)])


def score_members(version: Ruled, members: Sequence[Member]) -> tuple[Claims | None, tuple[MemberConsensus, ...]]:
    """Return the group's claims and each valid member's scores, in the order given (SPEC 4, D-3).

    Below 3 valid members there is no group: consensus is 1.0 without components; agreements are computed all the
    same.
    """
    group = group_claims(version.rules.consensus.min_valid, [m.claims for m in members])
    return group, tuple(_score_member(version, i, members, group) for i in range(len(members)))


def _score_member(version: Ruled, index: int, members: Sequence[Member], group: Claims | None) -> MemberConsensus:
    own = members[index].claims
    parts = components(version.rules.consensus, own, group) if group else None
    others = [*members[:index], *members[index + 1 :]]
    return MemberConsensus(
        components=parts,
        consensus=consensus_score(version, parts) if parts else 1.0,
        with_primaries=_agreement_with(version, own, others, "primary"),
        with_auditors=_agreement_with(version, own, others, "auditor"),
    )


def _agreement_with(version: Ruled, own: Claims, others: Sequence[Member], role: Role) -> float | None:
    agreements = [pairwise_agreement(version, own, other.claims) for other in others if other.role == role]
    return mean(agreements) if agreements else None
