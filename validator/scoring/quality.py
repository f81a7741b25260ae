"""Quality Q: the axes, epsilon, and their composition (SPEC 6)."""

from typing import Annotated, Any, Literal, NamedTuple

from msgspec import Meta

from validator.protocol.answer import Role
from validator.protocol.round import Checks
from validator.protocol.scoring_version import (
    EPSILON_FLOOR,
    EPSILON_WEIGHTS,
    F_BETA,
    PROVENANCE_WEIGHTS,
    TYPE_RULES,
    SkillType,
    require_assessed,
)
from validator.protocol.sssa import Document, Finding, Rule, Unit, Verdict
from validator.protocol.task import Truth
from validator.scoring.keys import normalised_evidence

Seconds = Annotated[float, Meta(ge=0)]


class AnswerFacts(Document, frozen=True):
    """Everything about one answer that decides its quality and emission.

    Attributes:
        skill_type, role: which weights and which axes apply.
        window: (t_min, deadline) of the role, seconds.
        t: seconds the answer took.
        epoch: subnet epoch (bootstrap).
        verdict, risk_score, findings, rules, manifest_sha256: what the miner said.
        shell_commands: commands in the miner's shell_commands trace; None where there is no such trace.
        truth: verdict to score against and what else is known; null fields make their axes not apply.
        provenance: where the truth verdict comes from; `consensus` when it is the group's (D-7).
        checks: what the gates established, None where a check does not apply.
        semantic_subset: gate 7, None where it does not apply.
        consensus: the miner's consensus score, 1.0 where consensus is off.
    """

    skill_type: SkillType
    role: Role
    window: tuple[Seconds, Seconds]
    t: Seconds
    epoch: Annotated[int, Meta(ge=0)]
    verdict: Verdict
    risk_score: Unit
    findings: tuple[Finding, ...]
    rules: tuple[Rule, ...]
    manifest_sha256: str | None
    shell_commands: tuple[str, ...] | None
    truth: Truth
    provenance: Literal["curated", "canary", "consensus"]
    checks: Checks
    semantic_subset: Unit | None
    consensus: Unit

    def __post_init__(self) -> None:
        require_assessed(self.skill_type)


class Sets(NamedTuple):
    """What an axis compares: what the miner named, and what the truth asks for."""

    mine: frozenset[Any]
    expected: frozenset[Any]


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
    found = (f.evidence_ref for f in facts.findings if f.category == "prompt_injection")
    return Sets(frozenset(map(normalised_evidence, found)), frozenset(map(normalised_evidence, facts.truth.injections)))


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


def window_position(facts: AnswerFacts) -> float:
    """Return f = (t - t_min) / (deadline - t_min): 0 at t_min, 1 at the deadline (SPEC 6, eta)."""
    return part_of_window(facts.window, facts.t)


def part_of_window(window: tuple[float, float], t: float) -> float:
    """Return f for an answer after `t` seconds in a (t_min, deadline) window; any answer has one, late ones too."""
    t_min, deadline = window
    return (t - t_min) / (deadline - t_min)


def alpha(facts: AnswerFacts) -> float:
    """Return the verdict axis, weighted by the truth's provenance (SPEC 6, D-19)."""
    return _verdict_value(facts.verdict, facts.truth.verdict, facts.risk_score) * PROVENANCE_WEIGHTS[facts.provenance]


def _verdict_value(said: str, true: str, risk: float) -> float:
    if said == true:
        return 1.0
    if "REVIEW" in (said, true):
        return 0.5
    if said == "BLOCK":
        return 0.4 * (1.0 - 0.4 * risk)
    return 0.4 * max(0.0, 1.0 - 2.5 * (1.0 - risk))


def pi(facts: AnswerFacts) -> float | None:
    """Return F-beta (beta 0.5) over rule tuples against the expected policy; None without one (SPEC 6)."""
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
    square = F_BETA * F_BETA
    return (1.0 + square) * precision * recall / (square * precision + recall)


def eta(facts: AnswerFacts) -> float:
    """Return the timing axis: 0 outside the window, 1 up to a quarter, then falling to 0.6 (SPEC 6)."""
    f = window_position(facts)
    if not 0.0 <= f <= 1.0:
        return 0.0
    return 1.0 if f <= 0.25 else 1.0 - 0.4 * (f - 0.25) / 0.75  # noqa: PLR2004 - the formula


def rho(facts: AnswerFacts) -> float | None:
    """Return the recall of known injections; none known: 1 if none found, else 0.8 (SPEC 6)."""
    sets = rho_sets(facts)
    if sets is None:
        return None
    found, known = sets
    if not known:
        return 0.8 if found else 1.0
    return len(found & known) / len(known)


def mu(facts: AnswerFacts) -> float | None:
    """Return 1 - |risk - reference risk| (SPEC 6)."""
    if facts.truth.reference_risk is None:
        return None
    return 1.0 - abs(facts.risk_score - facts.truth.reference_risk)


def sigma(facts: AnswerFacts) -> float | None:
    """Return the recall of the expected commands among the traced ones; primaries only (SPEC 6)."""
    return _recall(sigma_sets(facts))


def psi(facts: AnswerFacts) -> float | None:
    """Return 1 if the manifest hash is right, else 0 (SPEC 6)."""
    if facts.truth.manifest_sha256 is None:
        return None
    return 1.0 if facts.manifest_sha256 == facts.truth.manifest_sha256 else 0.0


def tau(facts: AnswerFacts) -> float | None:
    """Return the recall of poisoned tool names among the targets of tool_poisoning findings (SPEC 6)."""
    return _recall(tau_sets(facts))


def chi(facts: AnswerFacts) -> float | None:
    """Return max(0, 1 - 2 * |risk - transitive risk|) (SPEC 6)."""
    if facts.truth.transitive_risk is None:
        return None
    return max(0.0, 1.0 - 2.0 * abs(facts.risk_score - facts.truth.transitive_risk))


def _recall(sets: Sets | None) -> float | None:
    if sets is None:
        return None
    found, expected = sets
    return len(expected & found) / len(expected) if expected else 1.0


_AXES = {"alpha": alpha, "pi": pi, "eta": eta, "rho": rho, "mu": mu, "sigma": sigma, "psi": psi, "tau": tau, "chi": chi}


def axes(facts: AnswerFacts) -> dict[str, float]:
    """Return the axes that apply, in the order alpha, pi, eta, then the type's (SPEC 6)."""
    values = ((name, _AXES[name](facts)) for name, _ in TYPE_RULES[facts.skill_type].axis_weights)
    return {name: value for name, value in values if value is not None}


class EvidencePart(NamedTuple):
    """One check that applies: what it weighs, and what it adds to epsilon's sum."""

    name: str
    weight: float
    holds: bool
    held: float


def evidence_parts(checks: Checks, semantic_subset: float | None) -> tuple[EvidencePart, ...]:
    """Return the parts of epsilon that apply, in order (SPEC 6)."""
    parts: list[EvidencePart] = []
    for name, weight in EPSILON_WEIGHTS:
        holds: bool | None = getattr(checks, name)
        if holds is None:
            continue
        factor = semantic_subset if name == "traces" and semantic_subset is not None else 1.0
        parts.append(EvidencePart(name, weight, holds, weight * factor if holds else 0.0))
    return tuple(parts)


def epsilon(checks: Checks, semantic_subset: float | None) -> float:
    """Return the evidence factor: weights of what holds over weights of what applies (SPEC 6)."""
    held = total = 0.0
    for part in evidence_parts(checks, semantic_subset):
        held += part.held
        total += part.weight
    return held / total


def quality(skill_type: SkillType, values: dict[str, float], evidence: float) -> float:
    """Return Q = (epsilon * sum of w * axis) / sum of w over the axes that apply; 0 when epsilon < 0.10 (SPEC 6)."""
    if evidence < EPSILON_FLOOR:
        return 0.0
    weighted = total = 0.0
    for name, weight in TYPE_RULES[skill_type].axis_weights:
        if name in values:
            weighted += weight * values[name]
            total += weight
    return evidence * weighted / total
