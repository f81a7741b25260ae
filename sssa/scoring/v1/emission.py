"""Emission of one answer: Q times six factors (SPEC 7)."""

from sssa.protocol.round import Emission
from sssa.protocol.skill_types import SkillType
from sssa.scoring.scoring_types import AnswerFacts
from sssa.scoring.v1.quality import epsilon, quality, quality_axes
from sssa.scoring.v1.rules import EmissionRules, Ruled, TypeRules


def tier(version: Ruled, skill_type: SkillType, q: float) -> float:
    """Return the tier factor of quality `q` against the type's baseline (SPEC 7)."""
    rules, baseline = version.rules.emission, version.rules.types[skill_type].baseline
    return next((step.factor for step in rules.tiers if q < step.bound * baseline), rules.top_tier)


def early_bonus(rules: EmissionRules, f: float) -> float:
    """Return the factor for an answer at part `f` of its window (SPEC 7)."""
    return next((step.factor for step in rules.early_bonuses if f <= step.bound), 1.0)


def bootstrap(rules: EmissionRules, of_type: TypeRules, epoch: int) -> float:
    """Return the factor of the bootstrapped types in early epochs, else 1.0 (SPEC 7, D-22)."""
    return rules.bootstrap if of_type.bootstrapped and epoch <= rules.bootstrap_epochs else 1.0


def answer_emission(version: Ruled, facts: AnswerFacts) -> Emission:
    """Return the answer's emission with everything that made it; 0 for an answer before t_min (SPEC 5, 7)."""
    return emission_of(version, facts, quality_axes(version, facts))


def emission_of(version: Ruled, facts: AnswerFacts, values: dict[str, float]) -> Emission:
    """Return the emission of an answer with these axes; see `answer_emission`."""
    rules, of_type, f = version.rules.emission, version.rules.types[facts.skill_type], facts.part
    evidence = epsilon(version, facts.checks, facts.semantic_subset)
    q = quality(version, facts.skill_type, values, evidence)
    factors = (
        of_type.base_weight,
        tier(version, facts.skill_type, q),
        early_bonus(rules, f),
        rules.auditor if facts.role == "auditor" else 1.0,
        facts.consensus,
        bootstrap(rules, of_type, facts.epoch),
    )
    value = q
    for factor in factors:
        value *= factor
    return Emission(values, evidence, q, *factors, 0.0 if f < 0.0 else value)
