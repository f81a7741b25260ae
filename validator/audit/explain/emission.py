"""The seven factors of an emission, each with why (SPEC 7)."""

from validator.audit.explain.words import plain
from validator.protocol.round import Emission
from validator.protocol.scoring_version import BOOTSTRAP_EPOCHS, TYPE_RULES, SkillType
from validator.protocol.sssa import Document
from validator.scoring.emission import EARLY_BONUSES, TIERS
from validator.scoring.quality import AnswerFacts, window_position


class Factor(Document, frozen=True):
    """One factor of the product."""

    name: str
    value: float
    why: str


class Product(Document, frozen=True):
    """The product of the factors, from left to right; 0 for an answer before t_min (`early`)."""

    factors: tuple[Factor, ...]
    early: bool
    emission: float


def explain_emission(facts: AnswerFacts, emission: Emission) -> Product:
    """Return the factors that made `emission`; `facts` are those it was computed from."""
    f = window_position(facts)
    factors = (
        Factor("Q", emission.quality, "quality, as above"),
        Factor("base_weight", emission.base_weight, f"of {facts.skill_type}"),
        Factor("tier", emission.tier, _tier(facts.skill_type, emission)),
        Factor("early_bonus", emission.early_bonus, _early(f)),
        Factor("role", emission.role, facts.role),
        Factor("consensus", emission.consensus, "as above" if emission.consensus < 1 else "full, or consensus was off"),
        Factor("bootstrap", emission.bootstrap, _bootstrap(facts)),
    )
    return Product(factors, f < 0.0, emission.emission)


def _tier(skill_type: SkillType, emission: Emission) -> str:
    baseline = TYPE_RULES[skill_type].baseline
    steps = [(multiple * baseline, factor) for multiple, factor in TIERS]
    above = [f"{bound:.4f}" for bound, factor in steps if factor < emission.tier]
    below = [f"{bound:.4f}" for bound, factor in steps if factor >= emission.tier]
    bounds = f"{f'{above[-1]} ≤ ' if above else ''}Q{f' < {below[0]}' if below else ''}"
    return f"{bounds}; the type's baseline is {plain(baseline)}"


def _early(f: float) -> str:
    bound = next((bound for bound, _ in EARLY_BONUSES if f <= bound), None)
    return f"f = {f:.4f} > {EARLY_BONUSES[-1][0]}" if bound is None else f"f = {f:.4f} ≤ {bound}"


def _bootstrap(facts: AnswerFacts) -> str:
    if not TYPE_RULES[facts.skill_type].bootstrapped:
        return "not for this type"
    sign = "≤" if facts.epoch <= BOOTSTRAP_EPOCHS else ">"
    return f"epoch {facts.epoch} {sign} {BOOTSTRAP_EPOCHS}"
