"""Explanation of Q and emission: the axes, epsilon, the normalisation (SPEC 6), and the factors (SPEC 7)."""

from collections.abc import Iterable
from typing import Final

from validator.protocol.round import Emission
from validator.protocol.skill_types import SkillType
from validator.protocol.sssa import Document
from validator.protocol.text import plain
from validator.scoring import AnswerFacts, Rules, Version, axis_sets, evidence_parts

_UNKNOWN: Final = "does not apply: the task says nothing of it"
_THINGS: Final = {
    "pi": "expected policy rules",
    "rho": "known injections",
    "sigma": "expected commands",
    "tau": "poisoned tools",
}
_CHECKS: Final = {
    "probes": ("probe values verified", "probe values wrong"),
    "traces": ("trace hashes consistent", "trace hashes wrong"),
    "manifest_digest": ("sandbox digest is the round's image", "sandbox digest is another image's"),
    "evidence_resolves": ("every finding points into the bundle", "a finding points at nothing in the bundle"),
    "canary": ("canary reported at its line", "canary not reported at its line"),
}


class Axis(Document, frozen=True):
    """One axis.

    Attributes:
        value: in [0, 1]; None where it does not apply, then its weight does not count either.
        missed, extra: what the truth asks for and the miner did not name, and the other way round, where sets are
            compared.
    """

    name: str
    weight: float
    value: float | None
    why: str
    missed: tuple[tuple[str, ...], ...] = ()
    extra: tuple[tuple[str, ...], ...] = ()

    @property
    def contribution(self) -> float | None:
        """Weight times value; None where the axis does not apply."""
        return None if self.value is None else self.weight * self.value


class EvidenceLine(Document, frozen=True):
    """One check that applies: `held` of its `weight` counts."""

    name: str
    weight: float
    held: float
    why: str


class Quality(Document, frozen=True):
    """Q with what made it; the axes' weights that apply come to `weight_sum`.

    Attributes:
        verdict, truth: the miner's, and the one it was scored against.
        provenance: where that comes from: `consensus` is the group's own verdict (D-7).
    """

    quality: float
    verdict: str
    truth: str
    provenance: str
    axes: tuple[Axis, ...]
    weight_sum: float
    epsilon: float
    epsilon_parts: tuple[EvidenceLine, ...]
    below_floor: bool


def explain_quality(version: Version, facts: AnswerFacts, emission: Emission) -> Quality:
    """Return why `emission.quality` is what it is; `facts` are those it was computed from."""
    weights = version.rules.types[facts.skill_type].axes
    weight_sum = 0.0
    for name, weight in weights:
        weight_sum += weight if name in emission.axes else 0.0
    return Quality(
        quality=emission.quality,
        verdict=facts.verdict,
        truth=facts.truth.verdict,
        provenance=facts.provenance,
        axes=tuple(_axis(version, name, weight, facts, emission.axes.get(name)) for name, weight in weights),
        weight_sum=weight_sum,
        epsilon=emission.epsilon,
        epsilon_parts=tuple(
            EvidenceLine(part.name, part.weight, part.held, _evidence_why(part.name, part.holds, facts))
            for part in evidence_parts(version, facts.checks, facts.semantic_subset)
        ),
        below_floor=emission.epsilon < version.rules.quality.floor,
    )


def _axis(version: Version, name: str, weight: float, facts: AnswerFacts, value: float | None) -> Axis:
    if value is None:
        return Axis(name, weight, None, "does not apply to auditors" if name == "sigma" else _UNKNOWN)
    sets = axis_sets(name, facts)
    if sets is None:
        return Axis(name, weight, value, _why(version, name, facts))
    found = f"{len(sets.mine & sets.expected)} of {len(sets.expected)} {_THINGS[name]}, {len(sets.mine)} named"
    return Axis(name, weight, value, found, _parts(sets.expected - sets.mine), _parts(sets.mine - sets.expected))


def _parts(items: Iterable[str | tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    return tuple(sorted((item,) if isinstance(item, str) else item for item in items))


def _why(version: Version, name: str, facts: AnswerFacts) -> str:
    truth = facts.truth
    match name:
        case "alpha":
            factor = version.rules.quality.provenance[facts.provenance]
            return f"it said {facts.verdict}, right is {truth.verdict}; {facts.provenance} truth counts {plain(factor)}"
        case "eta":
            return f"the answer came at f = {facts.part:.4f} of its window"
        case "mu":
            return f"risk {facts.risk_score:.4f}, reference {_risk(truth.reference_risk)}"
        case "psi":
            right = facts.manifest_sha256 == truth.manifest_sha256
            return "the manifest's hash is right" if right else "the manifest's hash is missing or wrong"
        case _:
            return f"risk {facts.risk_score:.4f}, transitive risk {_risk(truth.transitive_risk)}"


def _risk(risk: float | None) -> str:
    return "unknown" if risk is None else f"{risk:.4f}"


def _evidence_why(name: str, holds: bool, facts: AnswerFacts) -> str:
    said = _CHECKS[name][0 if holds else 1]
    if name == "traces" and holds and facts.semantic_subset is not None:
        return f"{said}; they cover {facts.semantic_subset:.4f} of what the group's show (gate 7)"
    return said


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
