"""Every number of version 2.0.0 that differs from 1.0.0, with the shapes that hold them (SPEC 17). It never changes."""

from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Final, Protocol

from validator.protocol.round import ReputationKind
from validator.scoring.constants import Rules, Weighted
from validator.scoring.v1.rules import RULES as RULES_1


@dataclass(frozen=True, slots=True, kw_only=True)
class PresenceRules:
    """Turns that were a miner's, and how many it took (D-48).

    Attributes:
        absent: frozen rounds after which a turn that was missed no longer counts.
        prior: turns that were taken, added to both numbers before they are divided.
    """

    absent: int
    prior: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TallyRules:
    """Reference, weight and score of an answer (D-37, D-38).

    Attributes:
        others: fewest other valid members that make a reference.
        prior_score, prior_answers: added to a record's before they are divided.
        curated_weight: answers that a record weighs as, next to those of the curated one (D-49).
        least_weight: of a valid member.
        findings, verdict: parts of the answer score.
        null_risk: that an answer which knows nothing would say.
        truth_check: weight in epsilon of the manifest hash, and of the expected commands.
        record: newest planted answers that a record counts.
    """

    others: int
    prior_score: float
    prior_answers: float
    curated_weight: int
    least_weight: float
    findings: float
    verdict: float
    null_risk: float
    truth_check: float
    record: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentRules:
    """From tallies to an assessment score (D-41, D-42).

    Attributes:
        weights: of the components, in the order of the sum.
        own, pool: opportunities that a type's ratio leans on the miner's own, and the miner's own on the pool's.
        least_offered: fewest opportunities an entry counts for.
        least_verdict, least_risk: least divisors after chance is taken off.
        ramp: entries at which a miner's score is halved.
        curated_weight: answers that a record weighs as, next to those of the curated one (D-41).
        curated_from: part of the record from which the curated one costs nothing.
        transition: rounds until 1.0.0's entries no longer count.
    """

    weights: Weighted
    own: int
    pool: int
    least_offered: float
    least_verdict: float
    least_risk: float
    ramp: int
    curated_weight: int
    curated_from: float
    transition: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules20(Rules):
    """Every constant of 2.0.0."""

    presence: PresenceRules
    tallies: TallyRules
    components: ComponentRules


class Ruled20(Protocol):
    """A version with the constants of 2.0.0."""

    @property
    def rules(self) -> Rules20:
        """All of them."""


_EVENTS: Final = RULES_1.reputation
_FACTORS: Final[dict[ReputationKind, float]] = {
    "truth_low": 0.95,
    **{kind: by for kind, by in _EVENTS.factors.items() if kind != "consensus_low"},
}
_LATER: Final = replace(
    RULES_1,
    groups=replace(RULES_1.groups, canary_slots=4),
    reputation=replace(
        _EVENTS,
        high=0.5,
        low=0.25,
        gains=MappingProxyType({"truth_high": 0.02, "rerun_pass": 0.02}),
        factors=MappingProxyType(_FACTORS),
    ),
)

RULES: Final = Rules20(
    **{one.name: getattr(_LATER, one.name) for one in fields(Rules)},
    presence=PresenceRules(absent=10, prior=5),
    tallies=TallyRules(
        others=2,
        prior_score=1.5,
        prior_answers=3.0,
        curated_weight=2,
        least_weight=0.02,
        findings=0.75,
        verdict=0.25,
        null_risk=0.5,
        truth_check=0.2,
        record=100,
    ),
    components=ComponentRules(
        weights=(
            ("findings", 0.50),
            ("verdict", 0.25),
            ("risk", 0.10),
            ("capabilities", 0.05),
            ("dependencies", 0.05),
            ("rules", 0.05),
        ),
        own=10,
        pool=4,
        least_offered=0.3,
        least_verdict=0.2,
        least_risk=0.05,
        ramp=20,
        curated_weight=5,
        curated_from=0.6,
        transition=30,
    ),
)
