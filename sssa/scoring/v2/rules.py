"""Every number of version 2.0.0 that differs from 1.0.0, next to its meaning (SPEC 17). It never changes."""

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, Protocol

from sssa.protocol.round import ReputationKind
from sssa.scoring.v1.rules import RULES as RULES_1
from sssa.scoring.v1.rules import GroupRules, ReputationRules, Rules, Weighted


@dataclass(frozen=True, slots=True, kw_only=True)
class PresenceRules:
    """Turns that were a miner's, and how many it took (D-48)."""

    absent: int = 10  # frozen rounds after which a turn that was missed no longer counts
    prior: int = 5  # turns that were taken, added to both numbers before they are divided


@dataclass(frozen=True, slots=True, kw_only=True)
class TallyRules:
    """Reference, weight and score of an answer (D-37, D-38)."""

    others: int = 2  # fewest other valid members that make a reference
    prior_score: float = 1.5  # added to a record's before they are divided
    prior_answers: float = 3.0
    curated_weight: int = 2  # answers that a record weighs as, next to those of the curated one (D-49)
    least_weight: float = 0.02  # of a valid member
    findings: float = 0.75  # parts of the answer score
    verdict: float = 0.25
    null_risk: float = 0.5  # the risk of an answer that knows nothing
    truth_check: float = 0.2  # weight in epsilon of the manifest hash, and of the expected commands
    record: int = 100  # newest planted answers that a record counts


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentRules:
    """From tallies to an assessment score (D-41, D-42)."""

    weights: Weighted = (
        ("findings", 0.50),
        ("verdict", 0.25),
        ("risk", 0.10),
        ("capabilities", 0.05),
        ("dependencies", 0.05),
        ("rules", 0.05),
    )
    own: int = 10  # opportunities by which a type's ratio leans on the miner's own,
    pool: int = 4  # and the miner's own on the pool's
    least_offered: float = 0.3  # fewest opportunities an entry counts for
    least_verdict: float = 0.2  # least divisors after chance is taken off
    least_risk: float = 0.05
    ramp: int = 20  # entries at which a miner's score is halved
    curated_weight: int = 5  # answers that a record weighs as, next to those of the curated one (D-41)
    curated_from: float = 0.6  # part of the record from which the curated one costs nothing
    transition: int = 30  # rounds until the entries of 1.0.0 no longer count


_GROUPS: Final = replace(RULES_1.groups, canary_slots=4)
_FACTORS: Final[dict[ReputationKind, float]] = {
    kind: by for kind, by in RULES_1.reputation.factors.items() if kind != "consensus_low"
}
_REPUTATION: Final = replace(
    RULES_1.reputation,
    high=0.5,
    low=0.25,
    gains=MappingProxyType({"truth_high": 0.02, "rerun_pass": 0.02}),
    factors=MappingProxyType({"truth_low": 0.95, **_FACTORS}),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules20(Rules):
    """Every constant of 2.0.0."""

    groups: GroupRules = _GROUPS
    reputation: ReputationRules = _REPUTATION
    presence: PresenceRules = PresenceRules()
    tallies: TallyRules = TallyRules()
    components: ComponentRules = ComponentRules()


class Ruled20(Protocol):
    """A version with the constants of 2.0.0."""

    @property
    def rules(self) -> Rules20:
        """All of them."""


RULES: Final = Rules20()
