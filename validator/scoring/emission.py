"""Emission of one answer: Q times six factors (SPEC 7)."""

from validator.protocol.round import Emission
from validator.protocol.scoring_version import (
    AUDITOR_ROLE_FACTOR,
    BOOTSTRAP_EPOCHS,
    BOOTSTRAP_FACTOR,
    TYPE_RULES,
    SkillType,
)
from validator.scoring.quality import AnswerFacts, axes, epsilon, quality, window_position

TIERS = ((1.0, 0.5), (1.125, 1.0), (1.5, 1.4))  # below this multiple of the baseline: this factor
TOP_TIER = 2.0
EARLY_BONUSES = ((0.25, 1.15), (0.50, 1.08))  # up to this part of the window: this factor


def tier(skill_type: SkillType, q: float) -> float:
    """Return the tier factor of quality `q` against the type's baseline (SPEC 7)."""
    baseline = TYPE_RULES[skill_type].baseline
    return next((factor for multiple, factor in TIERS if q < multiple * baseline), TOP_TIER)


def early_bonus(f: float) -> float:
    """Return the factor for an answer at part `f` of its window (SPEC 7)."""
    return next((factor for bound, factor in EARLY_BONUSES if f <= bound), 1.0)


def bootstrap(skill_type: SkillType, epoch: int) -> float:
    """Return 1.5 for the bootstrapped types while epoch <= 30, else 1.0 (SPEC 7, D-22)."""
    return BOOTSTRAP_FACTOR if TYPE_RULES[skill_type].bootstrapped and epoch <= BOOTSTRAP_EPOCHS else 1.0


def emission(facts: AnswerFacts) -> Emission:
    """Return the answer's emission with everything that made it; 0 for an answer before t_min (SPEC 5, 7)."""
    values = axes(facts)
    evidence = epsilon(facts.checks, facts.semantic_subset)
    q = quality(facts.skill_type, values, evidence)
    f = window_position(facts)
    factors = (
        TYPE_RULES[facts.skill_type].base_weight,
        tier(facts.skill_type, q),
        early_bonus(f),
        AUDITOR_ROLE_FACTOR if facts.role == "auditor" else 1.0,
        facts.consensus,
        bootstrap(facts.skill_type, facts.epoch),
    )
    value = q
    for factor in factors:
        value *= factor
    return Emission(values, evidence, q, *factors, 0.0 if f < 0.0 else value)
