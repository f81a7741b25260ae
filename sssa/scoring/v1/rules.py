"""Every number of version 1.0.0 next to its meaning (SPEC 1, 4 to 12, 15); a released version's never changes.

A later version has the same fields with other numbers (`dataclasses.replace`), and may add its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Protocol

from sssa.protocol.round import ReputationKind
from sssa.protocol.skill_types import SkillType
from sssa.protocol.task import Windows

Weighted = tuple[tuple[str, float], ...]
"""(name, weight) in the order of a sum."""


class Step(NamedTuple):
    """A step of a staircase: up to `bound`, this factor."""

    bound: float
    factor: float


def _mapping(values: Mapping[Any, Any]) -> Any:
    return field(default_factory=lambda: MappingProxyType(values))


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeRules:
    """Constants of one assessment type (SPEC 1, 6, 7)."""

    base_weight: float  # factor of the emission
    windows: Windows  # standard profile
    axes: Weighted  # of the quality
    baseline: float  # quality at which tier 1 begins
    bootstrapped: bool = False  # early epochs pay more


def _axes(alpha: float, pi: float, **extra: float) -> Weighted:
    return (("alpha", alpha), ("pi", pi), ("eta", 0.05), *extra.items())


_TYPES: Final = {
    SkillType.RAG_KNOWLEDGE: TypeRules(
        base_weight=0.5,
        windows=Windows(primary=(5, 45), auditor=(2, 15)),
        axes=_axes(0.45, 0.20, rho=0.15),
        baseline=0.35,
    ),
    SkillType.DECLARATIVE: TypeRules(
        base_weight=0.7,
        windows=Windows(primary=(10, 90), auditor=(3, 30)),
        axes=_axes(0.45, 0.20, mu=0.10),
        baseline=0.40,
    ),
    SkillType.EXECUTABLE_PYTHON: TypeRules(
        base_weight=1.0,
        windows=Windows(primary=(30, 300), auditor=(10, 90)),
        axes=_axes(0.45, 0.20),
        baseline=0.50,
    ),
    SkillType.EXECUTABLE_SCRIPT: TypeRules(
        base_weight=1.2,
        windows=Windows(primary=(30, 300), auditor=(10, 90)),
        axes=_axes(0.40, 0.20, sigma=0.10),
        baseline=0.48,
    ),
    SkillType.MCP_SERVER: TypeRules(
        base_weight=1.6,
        windows=Windows(primary=(60, 600), auditor=(20, 150)),
        axes=_axes(0.35, 0.15, psi=0.10, tau=0.10),
        baseline=0.45,
        bootstrapped=True,
    ),
    SkillType.AGENT_COMPOSITION: TypeRules(
        base_weight=2.0,
        windows=Windows(primary=(120, 900), auditor=(30, 240)),
        axes=_axes(0.35, 0.15, chi=0.10),
        baseline=0.40,
        bootstrapped=True,
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRules:
    """Constants of group selection (SPEC 1, 8)."""

    slots_per_type: int = 2  # tasks of a type in a round
    primaries: int = 3  # of a full group
    auditors: int = 2
    ejecting_flags: int = 3  # a miner with so many standing collusion flags is not selected
    max_failure_rate: float = 0.5  # above it a miner is not selected,
    min_failure_samples: int = 5  # once it has so many dispatches
    history_rounds: int = 30  # in so many rounds
    rotation_streak: int = 3  # assignments as auditor in a row that make a miner due
    canary_slots: int = 2  # slots of a round for tasks made here, of different types (SPEC 16, D-33)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsensusRules:
    """Constants of agreement with the group (SPEC 4)."""

    min_valid: int = 3  # valid answers that it takes
    components: Weighted = (
        ("findings_recall", 0.30),
        ("findings_precision", 0.15),
        ("verdict_agreement", 0.15),
        ("capabilities_agreement", 0.15),
        ("risk_agreement", 0.10),
        ("dependencies_agreement", 0.10),
        ("policy_agreement", 0.05),
    )
    review: float = 0.5  # agreement of REVIEW with another verdict
    packages: float = 0.5  # parts of dependencies_agreement
    cves: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class QualityRules:
    """Q of an answer (SPEC 5, gate 7; SPEC 6)."""

    provenance: Mapping[str, float] = _mapping({"curated": 1.0, "canary": 1.0, "consensus": 0.7})  # of the verdict
    review: float = 0.5  # alpha where either side says REVIEW
    wrong: float = 0.4  # alpha of the wrong verdict at risk 0 (BLOCK) or 1 (ALLOW),
    block_slope: float = 0.4  # and how fast the risk lowers it (D-19)
    allow_slope: float = 2.5
    beta: float = 0.5  # of pi's F-beta
    early: float = 0.25  # part of the window up to which eta is 1
    late_loss: float = 0.4  # what eta has lost at the deadline
    injection_rumour: float = 0.8  # rho of an injection reported where none is known
    transitive_slope: float = 2.0  # how fast chi falls
    floor: float = 0.10  # of epsilon; below it Q is 0
    evidence: Weighted = (  # of epsilon
        ("probes", 0.3),
        ("traces", 0.3),
        ("manifest_digest", 0.2),
        ("evidence_resolves", 0.2),
        ("canary", 0.2),
    )
    min_witnesses: int = 2  # primaries that a reference for gate 7 takes (D-21)


@dataclass(frozen=True, slots=True, kw_only=True)
class EmissionRules:
    """Constants of the pay for quality (SPEC 7)."""

    tiers: tuple[Step, ...] = (Step(1.0, 0.5), Step(1.125, 1.0), Step(1.5, 1.4))  # below a multiple of the baseline
    top_tier: float = 2.0  # from the last multiple on
    early_bonuses: tuple[Step, ...] = (Step(0.25, 1.15), Step(0.50, 1.08))  # up to a part of the window; then 1
    auditor: float = 0.6  # factor of the role; a primary's is 1
    bootstrap_epochs: int = 30  # the last epoch in which bootstrapped types are multiplied
    bootstrap: float = 1.5  # by this


@dataclass(frozen=True, slots=True, kw_only=True)
class CollusionRules:
    """Constants of collusion flags (SPEC 9)."""

    window: int = 30  # counted samples that the means are over
    min_samples: int = 5  # that a flag takes
    primaries_above: float = 0.90  # strict
    auditors_below: float = 0.60  # strict
    worse: float = 0.8  # a flag needs a quality below so much of the witnesses' (D-50)
    witnesses: float = 0.60  # agreement from which on two auditors are witnesses (D-14)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReputationRules:
    """Constants of reputation and of exclusion by reputation (SPEC 8.1, 10)."""

    start: float = 0.5
    floor: float = 0.2  # a miner below it is not selected; recovery ends there
    recovery: float = 0.005  # gained in a round that leaves out a miner below the floor (D-10)
    high: float = 0.7  # consensus from which on it rises
    low: float = 0.4  # consensus below which it falls
    gains: Mapping[ReputationKind, float] = _mapping({"consensus_high": 0.02, "rerun_pass": 0.02})  # added
    factors: Mapping[ReputationKind, float] = _mapping(  # multiplied
        {
            "consensus_low": 0.95,
            "invalid": 0.7,
            "probe_fail": 0.7,
            "rerun_fail": 0.7,
            "violation": 0.5,
            "digest_mismatch": 0.5,
            "collusion_flag": 0.6,
        }
    )
    gates: Mapping[int, ReputationKind] = _mapping(
        {2: "invalid", 3: "violation", 4: "digest_mismatch", 5: "violation", 6: "probe_fail"}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PayRules:
    """From windows to weights (SPEC 11)."""

    window: int = 100  # newest entries that count
    warm_up: int = 20  # entries from which on a window counts whole (D-13)
    cap: float = 0.15  # the most that a miner may hold
    workflow_part: float = 0.25  # share of the workflows where one mechanism also pays assessments,
    full_share_miners: int = 7  # whole once so many miners have full, positive windows (D-24)


_PLAN_WINDOWS: Final = Windows(primary=(0, 30), auditor=(0, 30))


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowRules:
    """Constants of the score of a plan and its run (SPEC 12)."""

    windows: Windows = _PLAN_WINDOWS
    parts: Weighted = (("success", 0.50), ("cost", 0.25), ("latency", 0.15), ("reliability", 0.10))
    gate: float = 0.7 + 1e-12  # cost and latency count only for a success above it
    unplanned: float = 0.10  # what each takes from the reliability
    timeout: float = 0.20
    hard_failure: float = 0.50
    budget: float = 1.5  # the most that a run may cost, as a multiple of the plan's declared total
    run: float = 1.5  # the longest that a run may last, as a multiple of the task's max_latency_seconds
    tests: float = 0.7  # parts of the quality of code
    lint: float = 0.3
    finding: float = 0.05  # what each lint finding takes from the latter


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionRules:
    """When traces are those of a run of the bundle, and who is unpaid for traces that are not (SPEC 15)."""

    min_stable: int = 4  # signatures over all base files that a comparison takes
    missing_files: int = 10  # one in so many of the stable fs signatures may be missing
    shared: float = 0.7  # part of the stable signatures of every other base file that must be shown
    invented: int = 10  # one in so many of the miner's signatures may be in no run
    family: int = 9  # signatures of one run of the bundle that differ in digits alone count as one from so many on
    small_family: int = 2  # the same in the second look, which gives no event
    unpaid_fails: int = 3  # fails that leave a window unpaid,
    results: int = 10  # among so many last results of the type
    rounds: int = 200  # of those that entered in so many last rounds


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Every constant of a version. They are part of it, never of the settings."""

    types: Mapping[SkillType, TypeRules] = _mapping(_TYPES)
    groups: GroupRules = GroupRules()
    consensus: ConsensusRules = ConsensusRules()
    quality: QualityRules = QualityRules()
    emission: EmissionRules = EmissionRules()
    collusion: CollusionRules = CollusionRules()
    reputation: ReputationRules = ReputationRules()
    pay: PayRules = PayRules()
    workflow: WorkflowRules = WorkflowRules()
    execution: ExecutionRules = ExecutionRules()

    def windows_of(self, skill_type: SkillType) -> Windows:
        """Return the standard windows of a type (SPEC 1)."""
        return self.workflow.windows if skill_type is SkillType.WORKFLOW else self.types[skill_type].windows


class Ruled(Protocol):
    """Interface of a version to functions that need only its constants."""

    @property
    def rules(self) -> Rules:
        """All of them."""


RULES: Final = Rules()
