"""Every number of version 2.0.0 that differs from 1.1.0, with the shapes that hold them (SPEC 17). It never changes."""

from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Final, Protocol

from validator.protocol.round import ReputationKind
from validator.scoring.constants import Rules, Weighted
from validator.scoring.v1_1.rules import RULES as RULES_1_1


@dataclass(frozen=True, slots=True, kw_only=True)
class MeetingRules:
    """Pairs that meet in planted tasks (D-36).

    Attributes:
        proven_after: rounds without a meeting after which a proven pair meets again.
        suspects: most unproven pairs of a round.
        suspect_above: value that an unproven pair must exceed.
        pairs: most pairs of a group.
        eligible: fewest eligible miners for a meeting.
        ahead: turns that a hotkey may be ahead of the smallest.
    """

    proven_after: int
    suspects: int
    suspect_above: float
    pairs: int
    eligible: int
    ahead: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TallyRules:
    """Reference, weight and score of an answer (D-37, D-38).

    Attributes:
        others: fewest other valid members that make a reference.
        prior_score, prior_answers: added to a record's before they are divided.
        least_weight: of a valid member.
        findings, verdict: parts of the answer score.
        null_risk: that an answer which knows nothing would say.
        truth_check: weight in epsilon of the manifest hash, and of the expected commands.
        record: newest planted answers that a record counts.
    """

    others: int
    prior_score: float
    prior_answers: float
    least_weight: float
    findings: float
    verdict: float
    null_risk: float
    truth_check: float
    record: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AbilitySearch:
    """Steps of the search for an ability (D-39). They decide how long it takes, and no bit of its result.

    Attributes:
        newton_steps: at most.
        settled: a step that is smaller ends them.
        least_rise: of the mean, that a step divides by.
        near: half the width of the bracket, relative to the ability.
        clear: distance of a mean from its target that no rounding makes.
    """

    newton_steps: int
    settled: float
    least_rise: float
    near: float
    clear: float


SEARCH: Final = AbilitySearch(newton_steps=8, settled=1e-4, least_rise=1e-3, near=1e-7, clear=1e-12)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceRules:
    """Evidence that two miners share one analysis (D-39).

    Attributes:
        prior: answers at the mean rate that a kind or a record starts with.
        counted_from: answers from which a kind counts.
        halved_above: answers above which a kind's numbers are halved.
        slopes: of the curve from odds to chance.
        target: bounds of a miner's rate.
        ability: bounds of the search.
        halvings: of the search.
        chance: bounds of a chance.
        telling: bounds of a mean chance of a fault that tells something.
        shared, apart: weight of one analysis in each hypothesis; the rest is two analyses.
        ratio: bounds of one task's ratio.
        stake: share of the value that is bet.
        value: bounds of a value.
        proven_from, proven_until: value that proves a pair, and value under which it no longer is.
    """

    prior: int
    counted_from: int
    halved_above: int
    slopes: tuple[int, ...]
    target: tuple[float, float]
    ability: tuple[float, float]
    halvings: int
    chance: tuple[float, float]
    telling: tuple[float, float]
    shared: float
    apart: float
    ratio: tuple[float, float]
    stake: float
    value: tuple[float, float]
    proven_from: float
    proven_until: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentRules:
    """From tallies to an assessment score (D-40 to D-42).

    Attributes:
        weights: of the components, in the order of the sum.
        own, pool: opportunities that a type's ratio leans on the miner's own, and the miner's own on the pool's.
        least_offered: fewest opportunities an entry counts for.
        least_verdict, least_risk: least divisors after chance is taken off.
        ramp: entries at which a miner's score is halved.
        senior: factor for each proven senior.
        transition: rounds until 1.1.0's entries no longer count.
    """

    weights: Weighted
    own: int
    pool: int
    least_offered: float
    least_verdict: float
    least_risk: float
    ramp: int
    senior: float
    transition: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules20(Rules):
    """Every constant of 2.0.0."""

    meetings: MeetingRules
    tallies: TallyRules
    evidence: EvidenceRules
    components: ComponentRules


class Ruled20(Protocol):
    """A version with the constants of 2.0.0."""

    @property
    def rules(self) -> Rules20:
        """All of them."""


_EVENTS: Final = RULES_1_1.reputation
_FACTORS: Final[dict[ReputationKind, float]] = {
    "truth_low": 0.95,
    **{kind: by for kind, by in _EVENTS.factors.items() if kind != "consensus_low"},
}
_LATER: Final = replace(
    RULES_1_1,
    groups=replace(RULES_1_1.groups, canary_slots=4),
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
    meetings=MeetingRules(proven_after=30, suspects=10, suspect_above=1.35, pairs=2, eligible=5, ahead=1),
    tallies=TallyRules(
        others=2,
        prior_score=1.5,
        prior_answers=3.0,
        least_weight=0.02,
        findings=0.75,
        verdict=0.25,
        null_risk=0.5,
        truth_check=0.2,
        record=100,
    ),
    evidence=EvidenceRules(
        prior=8,
        counted_from=20,
        halved_above=400,
        slopes=(1, 2, 4),
        target=(0.01, 0.99),
        ability=(1 / 1024, 1024.0),
        halvings=24,
        chance=(0.03, 0.97),
        telling=(0.05, 0.95),
        shared=0.9,
        apart=0.3,
        ratio=(1e-8, 1e8),
        stake=0.5,
        value=(1.0, 1e6),
        proven_from=1e5,
        proven_until=10.0,
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
        senior=0.25,
        transition=30,
    ),
)
