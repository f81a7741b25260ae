"""The seven factors of an emission, each with why (SPEC 7)."""

from validator.kinds.explained.words import plain
from validator.protocol.round import Emission
from validator.protocol.skill_types import SkillType
from validator.protocol.sssa import Document
from validator.scoring import AnswerFacts, Rules, Version


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


def explain_emission(version: Version, facts: AnswerFacts, emission: Emission) -> Product:
    """Return the factors that made `emission`; `facts` are those it was computed from."""
    rules, f = version.rules, facts.part
    factors = (
        Factor("Q", emission.quality, "quality, as above"),
        Factor("base_weight", emission.base_weight, f"of {facts.skill_type}"),
        Factor("tier", emission.tier, _tier(rules, facts.skill_type, emission)),
        Factor("early_bonus", emission.early_bonus, _early(rules, f)),
        Factor("role", emission.role, facts.role),
        Factor("consensus", emission.consensus, "as above" if emission.consensus < 1 else "full, or consensus was off"),
        Factor("bootstrap", emission.bootstrap, _bootstrap(rules, facts)),
    )
    return Product(factors, f < 0.0, emission.emission)


def _tier(rules: Rules, skill_type: SkillType, emission: Emission) -> str:
    baseline = rules.types[skill_type].baseline
    steps = [(step.bound * baseline, step.factor) for step in rules.emission.tiers]
    above = [f"{bound:.4f}" for bound, factor in steps if factor < emission.tier]
    below = [f"{bound:.4f}" for bound, factor in steps if factor >= emission.tier]
    bounds = f"{f'{above[-1]} ≤ ' if above else ''}Q{f' < {below[0]}' if below else ''}"
    return f"{bounds}; the type's baseline is {plain(baseline)}"


def _early(rules: Rules, f: float) -> str:
    bounds = [step.bound for step in rules.emission.early_bonuses]
    bound = next((bound for bound in bounds if f <= bound), None)
    return f"f = {f:.4f} > {bounds[-1]}" if bound is None else f"f = {f:.4f} ≤ {bound}"


def _bootstrap(rules: Rules, facts: AnswerFacts) -> str:
    if not rules.types[facts.skill_type].bootstrapped:
        return "not for this type"
    last = rules.emission.bootstrap_epochs
    return f"epoch {facts.epoch} {'≤' if facts.epoch <= last else '>'} {last}"
