"""Quality Q: the axes, epsilon, and their composition (SPEC 6)."""

from collections.abc import Callable
from typing import Final

from sssa.protocol.results import Checks
from sssa.protocol.skill_types import SkillType
from sssa.scoring.scoring_types import AnswerFacts, EvidencePart, Sets
from sssa.scoring.v1.keys import normalised_evidence
from sssa.scoring.v1.rules import QualityRules, Ruled


def pi_sets(facts: AnswerFacts) -> Sets | None:
    """Return the rules as (resource, action, pattern); None without an expected policy."""
    if facts.truth.policy_rules is None:
        return None
    rules = (facts.rules, facts.truth.policy_rules)
    mine, expected = (frozenset((rule.resource, rule.action, rule.pattern) for rule in side) for side in rules)
    return Sets(mine, expected)


def rho_sets(facts: AnswerFacts) -> Sets | None:
    """Return the places of prompt injections, normalised; None where none are known of."""
    if facts.truth.injections is None:
        return None
    places = (f.evidence_ref for f in facts.findings if f.category == "prompt_injection")
    return Sets(
        frozenset(map(normalised_evidence, places)), frozenset(map(normalised_evidence, facts.truth.injections))
    )


def sigma_sets(facts: AnswerFacts) -> Sets | None:
    """Return the traced and the expected commands; None for auditors and where none are known of."""
    if facts.role != "primary" or facts.truth.shell_commands is None:
        return None
    return Sets(frozenset(facts.shell_commands or ()), frozenset(facts.truth.shell_commands))


def tau_sets(facts: AnswerFacts) -> Sets | None:
    """Return the tools named as poisoned and those that are; None where that is not known."""
    if facts.truth.poisoned_tools is None:
        return None
    named = (finding.target_pattern for finding in facts.findings if finding.category == "tool_poisoning")
    return Sets(frozenset(named), frozenset(facts.truth.poisoned_tools))


_SETS: Final = {"pi": pi_sets, "rho": rho_sets, "sigma": sigma_sets, "tau": tau_sets}


def axis_sets(name: str, facts: AnswerFacts) -> Sets | None:
    """Return what an axis compares; None where it compares no sets or nothing is known."""
    make = _SETS.get(name)
    return make(facts) if make else None


def alpha(rules: QualityRules, facts: AnswerFacts) -> float:
    """Return the verdict axis, weighted by the truth's provenance (SPEC 6, D-19)."""
    value = _verdict_value(rules, facts.verdict, facts.truth.verdict, facts.risk_score)
    return value * rules.provenance[facts.provenance]


def _verdict_value(rules: QualityRules, verdict: str, true: str, risk: float) -> float:
    if verdict == true:
        return 1.0
    if "REVIEW" in (verdict, true):
        return rules.review
    if verdict == "BLOCK":
        return rules.wrong * (1.0 - rules.block_slope * risk)
    return rules.wrong * max(0.0, 1.0 - rules.allow_slope * (1.0 - risk))


def pi(rules: QualityRules, facts: AnswerFacts) -> float | None:
    """Return F-beta over rule tuples against the expected policy; None without one (SPEC 6)."""
    sets = pi_sets(facts)
    if sets is None:
        return None
    mine, expected = sets
    if not mine and not expected:
        return 1.0
    hits = len(mine & expected)
    if not hits:
        return 0.0
    precision, recall = hits / len(mine), hits / len(expected)
    square = rules.beta * rules.beta
    return (1.0 + square) * precision * recall / (square * precision + recall)


def eta(rules: QualityRules, facts: AnswerFacts) -> float:
    """Return the timing axis: 0 outside the window, 1 in its first part, then falling in a line (SPEC 6)."""
    f = facts.part
    if not 0.0 <= f <= 1.0:
        return 0.0
    return 1.0 if f <= rules.early else 1.0 - rules.late_loss * (f - rules.early) / (1.0 - rules.early)


def rho(rules: QualityRules, facts: AnswerFacts) -> float | None:
    """Return the recall of known injections; none known: 1 if none found, else less (SPEC 6)."""
    sets = rho_sets(facts)
    if sets is None:
        return None
    named, known = sets
    if not known:
        return rules.injection_rumour if named else 1.0
    return len(named & known) / len(known)


def mu(_: QualityRules, facts: AnswerFacts) -> float | None:
    """Return 1 - |risk - reference risk| (SPEC 6)."""
    if facts.truth.reference_risk is None:
        return None
    return 1.0 - abs(facts.risk_score - facts.truth.reference_risk)


def sigma(_: QualityRules, facts: AnswerFacts) -> float | None:
    """Return the recall of the expected commands among the traced ones; primaries only (SPEC 6)."""
    return _recall(sigma_sets(facts))


def psi(_: QualityRules, facts: AnswerFacts) -> float | None:
    """Return 1 if the manifest hash is right, else 0 (SPEC 6)."""
    if facts.truth.manifest_sha256 is None:
        return None
    return 1.0 if facts.manifest_sha256 == facts.truth.manifest_sha256 else 0.0


def tau(_: QualityRules, facts: AnswerFacts) -> float | None:
    """Return the recall of poisoned tool names among the targets of tool_poisoning findings (SPEC 6)."""
    return _recall(tau_sets(facts))


def chi(rules: QualityRules, facts: AnswerFacts) -> float | None:
    """Return max(0, 1 - slope * |risk - transitive risk|) (SPEC 6)."""
    if facts.truth.transitive_risk is None:
        return None
    return max(0.0, 1.0 - rules.transitive_slope * abs(facts.risk_score - facts.truth.transitive_risk))


def _recall(sets: Sets | None) -> float | None:
    if sets is None:
        return None
    named, expected = sets
    return len(expected & named) / len(expected) if expected else 1.0


_AXES: Final[dict[str, Callable[[QualityRules, AnswerFacts], float | None]]] = {
    "alpha": alpha,
    "pi": pi,
    "eta": eta,
    "rho": rho,
    "mu": mu,
    "sigma": sigma,
    "psi": psi,
    "tau": tau,
    "chi": chi,
}


def quality_axes(version: Ruled, facts: AnswerFacts) -> dict[str, float]:
    """Return the axes that apply, in the order alpha, pi, eta, then the type's (SPEC 6)."""
    weights = version.rules.types[facts.skill_type].axes
    values = ((name, _AXES[name](version.rules.quality, facts)) for name, _ in weights)
    return {name: value for name, value in values if value is not None}


def evidence_parts(version: Ruled, checks: Checks, semantic_subset: float | None) -> tuple[EvidencePart, ...]:
    """Return the parts of epsilon that apply, in order (SPEC 6)."""
    parts: list[EvidencePart] = []
    for name, weight in version.rules.quality.evidence:
        holds: bool | None = getattr(checks, name)
        if holds is None:
            continue
        factor = semantic_subset if name == "traces" and semantic_subset is not None else 1.0
        parts.append(EvidencePart(name, weight, holds, weight * factor if holds else 0.0))
    return tuple(parts)


def epsilon(version: Ruled, checks: Checks, semantic_subset: float | None) -> float:
    """Return the evidence factor: weights of what holds over weights of what applies (SPEC 6)."""
    held = total = 0.0
    for part in evidence_parts(version, checks, semantic_subset):
        held += part.held
        total += part.weight
    return held / total


def quality(version: Ruled, skill_type: SkillType, values: dict[str, float], evidence: float) -> float:
    """Return Q = (epsilon * sum of w * axis) / sum of w over the axes that apply; 0 below epsilon's floor (SPEC 6)."""
    if evidence < version.rules.quality.floor:
        return 0.0
    weighted = total = 0.0
    for name, weight in version.rules.types[skill_type].axes:
        if name in values:
            weighted += weight * values[name]
            total += weight
    return evidence * weighted / total
