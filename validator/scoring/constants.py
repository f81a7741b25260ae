"""Every constant of a scoring version, named: the shape that each version fills with its numbers (SPEC 1, 4 to 12)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from validator.protocol.round import ReputationKind
from validator.protocol.skill_types import SkillType
from validator.protocol.task import Windows

Weighted = tuple[tuple[str, float], ...]
"""(name, weight) in the order of a sum."""


class Step(NamedTuple):
    """A step of a staircase: up to `bound`, this factor."""

    bound: float
    factor: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeRules:
    """Constants of one assessment type.

    Attributes:
        base_weight: factor of the emission (SPEC 1).
        windows: standard profile (SPEC 1).
        axes: axis to weight, in the order of the sum (SPEC 6).
        baseline: quality at which tier 1 begins (SPEC 7).
        bootstrapped: whether early epochs pay more (SPEC 7).
    """

    base_weight: float
    windows: Windows
    axes: Weighted
    baseline: float
    bootstrapped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRules:
    """Constants of group selection (SPEC 1, 8).

    Attributes:
        slots_per_type: tasks of a type in a round.
        primaries, auditors: of a full group.
        ejecting_flags: from so many standing collusion flags on nobody is selected.
        max_failure_rate: above it nobody is selected, once there are `min_failure_samples` dispatches.
        history_rounds: how many rounds those are of.
        rotation_streak: so many assignments as auditor in a row make a miner due.
        canary_slots: slots of a round for tasks made here, of different types (SPEC 16, D-33).
    """

    slots_per_type: int
    primaries: int
    auditors: int
    ejecting_flags: int
    max_failure_rate: float
    min_failure_samples: int
    history_rounds: int
    rotation_streak: int
    canary_slots: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsensusRules:
    """Constants of agreement with the group (SPEC 4).

    Attributes:
        min_valid: valid answers that it takes.
        components: in the order of the sum.
        review: what REVIEW agrees with another verdict.
        packages, cves: parts of dependencies_agreement.
    """

    min_valid: int
    components: Weighted
    review: float
    packages: float
    cves: float


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityRules:
    """Q of an answer (SPEC 5, gate 7; SPEC 6).

    Attributes:
        provenance: what a verdict counts for, by where it comes from.
        review: alpha where either side says REVIEW.
        wrong: alpha of the wrong verdict, before the risk is looked at.
        block_slope, allow_slope: how fast the risk takes that away (D-19).
        beta: of pi's F-beta.
        early: part of the window up to which eta is 1.
        late_loss: what eta has lost at the deadline.
        injection_rumour: rho where none is known and one was found.
        transitive_slope: how fast chi falls.
        floor: of epsilon; below it Q is 0.
        evidence: checks of epsilon, in the order of the sum.
        min_witnesses: primaries that a reference for gate 7 takes (D-21).
    """

    provenance: Mapping[str, float]
    review: float
    wrong: float
    block_slope: float
    allow_slope: float
    beta: float
    early: float
    late_loss: float
    injection_rumour: float
    transitive_slope: float
    floor: float
    evidence: Weighted
    min_witnesses: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EmissionRules:
    """Constants of the pay for quality (SPEC 7).

    Attributes:
        tiers: below such a multiple of the baseline, such a factor; `top_tier` from the last one on.
        early_bonuses: up to such a part of the window, such a factor; 1 after the last one.
        auditor: factor of the role; a primary's is 1.
        bootstrap_epochs: the last epoch in which bootstrapped types are multiplied by `bootstrap`.
    """

    tiers: tuple[Step, ...]
    top_tier: float
    early_bonuses: tuple[Step, ...]
    auditor: float
    bootstrap_epochs: int
    bootstrap: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CollusionRules:
    """Constants of collusion flags (SPEC 9).

    Attributes:
        window: counted samples that the means are over.
        min_samples: that a flag takes.
        primaries_above, auditors_below: both strict.
        worse: a flag needs a quality below so much of the witnesses' (D-50).
        witnesses: agreement from which on two auditors are witnesses (D-14).
    """

    window: int
    min_samples: int
    primaries_above: float
    auditors_below: float
    worse: float
    witnesses: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReputationRules:
    """Constants of reputation and of exclusion by reputation (SPEC 8.1, 10).

    Attributes:
        start: of everybody.
        floor: below it nobody is selected; recovery ends there.
        recovery: gained in a round in which a miner below the floor is left out (D-10).
        high: consensus from which on it rises.
        low: consensus below which it falls.
        gains: added by an event.
        factors: multiplied by an event.
        gates: gate to event.
    """

    start: float
    floor: float
    recovery: float
    high: float
    low: float
    gains: Mapping[ReputationKind, float]
    factors: Mapping[ReputationKind, float]
    gates: Mapping[int, ReputationKind]


@dataclass(frozen=True, slots=True, kw_only=True)
class PayRules:
    """From windows to weights (SPEC 11).

    Attributes:
        window: newest entries that count.
        warm_up: entries from which on a window counts whole (D-13).
        cap: the most that a miner may hold.
        workflow_part: share of the workflows, where one mechanism pays assessments, too.
        full_share_miners: so many miners with full, positive windows make that share whole (D-24); 0: it always is.
    """

    window: int
    warm_up: int
    cap: float
    workflow_part: float
    full_share_miners: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowRules:
    """Constants of the score of a plan and its run (SPEC 12).

    Attributes:
        windows: standard ones.
        parts: of S, in the order of the sum.
        gate: cost and latency count only for a success above it.
        unplanned, timeout, hard_failure: what each takes from the reliability.
        budget: the most that a run may cost, as a multiple of the plan's declared total.
        run: the longest that a run may last, as a multiple of the task's max_latency_seconds.
        tests, lint: parts of the quality of code; `finding` is what each lint finding takes from the latter.
    """

    windows: Windows
    parts: Weighted
    gate: float
    unplanned: float
    timeout: float
    hard_failure: float
    budget: float
    run: float
    tests: float
    lint: float
    finding: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionRules:
    """When traces are those of a run of the bundle, and who is unpaid for traces that are not (SPEC 15).

    Attributes:
        min_stable: signatures over all base files that a comparison takes.
        missing_files: one in so many of the stable fs signatures may be missing.
        shared: part of the stable signatures of every other base file that must be shown.
        invented: one in so many of the miner's signatures may be in no run.
        family: so many signatures of one run of the bundle that differ in digits alone count as one;
        small_family: so many of all count as one in the second look, which gives no event.
        unpaid_fails: so many fails leave a window unpaid,
        results: among so many last results of the type,
        rounds: of those that entered in so many last rounds.
    """

    min_stable: int
    missing_files: int
    shared: float
    invented: int
    family: int
    small_family: int
    unpaid_fails: int
    results: int
    rounds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Every constant of a version. They are part of it, never of the settings."""

    types: Mapping[SkillType, TypeRules]
    groups: GroupRules
    consensus: ConsensusRules
    quality: QualityRules
    emission: EmissionRules
    collusion: CollusionRules
    reputation: ReputationRules
    pay: PayRules
    workflow: WorkflowRules
    execution: ExecutionRules

    def windows_of(self, skill_type: SkillType) -> Windows:
        """Return the standard windows of a type (SPEC 1)."""
        return self.workflow.windows if skill_type is SkillType.WORKFLOW else self.types[skill_type].windows


class Ruled(Protocol):
    """Interface of a version to functions that need only its constants."""

    @property
    def rules(self) -> Rules:
        """All of them."""
