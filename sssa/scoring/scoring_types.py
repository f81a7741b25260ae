"""Input and output values of a version's functions, other than stored ones: the same for every version."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, NamedTuple

from msgspec import UNSET, Meta, UnsetType, field

from sssa.protocol.answer import Role
from sssa.protocol.execution import ExecutionEvent
from sssa.protocol.limits import MAX_SAFE_INTEGER
from sssa.protocol.reasons import Reason
from sssa.protocol.receipt import PaidType, Pool
from sssa.protocol.results import Checks
from sssa.protocol.round import AgreementPair, Components, GroupOutcome, GroupPlan, MemberOutcome, RoundTask
from sssa.protocol.skill_types import OfAssessment, SkillType
from sssa.protocol.sssa import Document, Finding, Rule, Unit, Verdict
from sssa.protocol.tallies import Presence, Record
from sssa.protocol.task import Truth, Window

Count = Annotated[int, Meta(ge=0, le=MAX_SAFE_INTEGER)]
Seconds = Annotated[float, Meta(ge=0)]
ScoredAgainst = Literal["curated", "canary", "consensus"]


class AnyCandidate(Document, frozen=True):
    """A registered miner that declared the type, as of this task (SPEC 8).

    Attributes:
        reputation: for the type.
        collusion_flags: standing ones, over all types.
        in_flight: open dispatches of the type, earlier tasks of this round included.
        max_concurrent: how many of them it takes, 1 to 4.
        dispatches, failures: of the type in the last rounds.
    """

    hotkey: str
    reputation: Unit
    collusion_flags: Count
    in_flight: Count
    max_concurrent: Annotated[int, Meta(ge=1, le=4)]
    dispatches: Count
    failures: Count


class Candidate(AnyCandidate, frozen=True):
    """A candidate of 1.0.0.

    Attributes:
        recent_roles: for the type, one per round in which it was assigned, newest first.
    """

    recent_roles: tuple[Role, ...]


class TurnCandidate(AnyCandidate, frozen=True):
    """A candidate of 2.0.0 (SPEC 17, D-35); dispatches of earlier tasks of the round are in both numbers.

    Attributes:
        turn: of the type.
        total: of the miner's turns over all its types.
    """

    turn: Count
    total: Count


class LastTurn(NamedTuple):
    """A miner and type after the newest round that had it as a candidate (SPEC 17, D-34, D-48).

    Attributes:
        now: its turn, with the dispatches that the round's plan gave it.
        presence: after the round's dispatches.
        stayed: that was the newest round of all, and its plan excluded the miner for no other reason than `in_flight`.
        absent: rounds frozen since.
    """

    now: int
    presence: Presence
    stayed: bool
    absent: int


class Ranked(NamedTuple):
    """A candidate that may be selected; its rank is its place in the order."""

    candidate: AnyCandidate
    draw: bytes


class PlannedTask(NamedTuple):
    """A task with its candidates as they stood when its turn came, and its group."""

    task: RoundTask
    candidates: Sequence[AnyCandidate]
    group: GroupPlan


class DeferredRun(NamedTuple):
    """A run whose quality is judged after its round (SPEC 12). `check_id` sorts as rounds, tasks and members."""

    check_id: str
    task_id: str
    hotkey: str


class ExecutionRun(NamedTuple):
    """One run of a task's bundle, or of nothing (SPEC 15).

    Attributes:
        ended: by itself, with exit code 0.
        probes: its traces show all three.
        signatures: base file to the signatures in it.
    """

    ended: bool
    probes: bool
    signatures: Mapping[str, AbstractSet[Any]]


class TracedAnswer(NamedTuple):
    """The traces of a valid primary; fields as of `ExecutionRun`."""

    hotkey: str
    probes: bool
    signatures: Mapping[str, AbstractSet[Any]]


class StableFile(NamedTuple):
    """One base file of the three runs (SPEC 15).

    Attributes:
        stable: S, what both runs of the bundle show and the run of nothing does not.
        possible: U, what any run shows.
        tracer: what the run of nothing shows, with the probes.
        varying: v, how many signatures only one run of the bundle shows.
    """

    stable: frozenset[Any]
    possible: frozenset[Any]
    tracer: frozenset[Any]
    varying: int


class ComparedFile(NamedTuple):
    """One base file of a miner's traces, compared with the runs (SPEC 15).

    Attributes:
        claimed: size of M, what the miner's traces show and the run of nothing does not.
        shared: how many of S the miner's traces show.
        missing: those of S that they do not show.
        invented: those of M that no run shows.
    """

    claimed: int
    shared: int
    missing: frozenset[Any]
    invented: frozenset[Any]


class ComparedAnswer(NamedTuple):
    """A valid primary's traces, compared with the runs.

    Attributes:
        event: None where it fails, and passes with every family of names as one signature.
        faults: what does not hold: `probes`, `mark`, and a base file with `missing` or `invented`.
        mark: whether they show the execution mark; None where none is planted.
        files: by base file.
    """

    hotkey: str
    event: ExecutionEvent | None
    faults: tuple[str, ...]
    mark: bool | None
    files: Mapping[str, ComparedFile]


class ComparedExecution(NamedTuple):
    """A task's execution (SPEC 15).

    Attributes:
        inconclusive: why it says nothing of anybody; None where it does.
        files: the runs, by base file.
        answers: the comparisons, in group order; also where nobody's pass confirms a fail.
    """

    inconclusive: Reason | None
    files: Mapping[str, StableFile]
    answers: tuple[ComparedAnswer, ...]


class Claims(NamedTuple):
    """One side of a comparison: a miner's own sets, or the group's (SPEC 4).

    Attributes:
        findings: canonical finding keys.
        verdict: ALLOW, BLOCK or REVIEW.
        risk: risk score, or the group's mean of them.
        capabilities: as spelled.
        dependencies: (package, version), package names normalised.
        cves: (package, version, CVE), CVEs in upper case.
        rules: (resource, action, pattern), as spelled.
    """

    findings: frozenset[str]
    verdict: Verdict
    risk: float
    capabilities: frozenset[str]
    dependencies: frozenset[tuple[str, str]]
    cves: frozenset[tuple[str, str, str]]
    rules: frozenset[tuple[str, str, str]]


class Member(NamedTuple):
    """A member of a group with a valid SSSA."""

    hotkey: str
    role: Role
    claims: Claims


class MemberConsensus(NamedTuple):
    """One member's scores; `components` is None when consensus is off, agreements None without a counterpart."""

    components: Components | None
    consensus: float
    with_primaries: float | None
    with_auditors: float | None


class Addend(NamedTuple):
    """One part of a weighted sum: `contribution` is weight times value."""

    name: str
    weight: float
    value: float
    contribution: float


class Standard(NamedTuple):
    """Standard for the answers: the task's truth, or the group's verdict alone (D-7)."""

    truth: Truth
    provenance: ScoredAgainst


class Comparison(NamedTuple):
    """The valid answers of a task side by side.

    Attributes:
        members: in the order of the plan.
        group: what at least T of them claim; None below 3.
        scores: of the members, in their order.
        standard: what quality is measured against; None where there is no verdict at all (D-7).
    """

    members: tuple[Member, ...]
    group: Claims | None
    scores: tuple[MemberConsensus, ...]
    standard: Standard | None


class ScoredTask(NamedTuple):
    """A task's outcome, members in the order of the plan."""

    group: GroupOutcome
    members: tuple[MemberOutcome, ...]


class AnswerFacts(OfAssessment, Document, frozen=True):
    """Everything about one answer that decides its quality and emission (SPEC 6, 7).

    Attributes:
        skill_type, role: which weights and which axes apply.
        window: of the role, seconds.
        t: seconds the answer took.
        epoch: subnet epoch (bootstrap).
        verdict, risk_score, findings, rules, manifest_sha256: from the answer.
        shell_commands: commands in the miner's shell_commands trace; None where there is no such trace.
        truth: verdict to score against and what else is known; null fields make their axes not apply.
        provenance: where the truth verdict comes from; `consensus` when it is the group's (D-7).
        checks: what the gates established, None where a check does not apply.
        semantic_subset: gate 7, None where it does not apply.
        consensus: the miner's consensus score, 1.0 where consensus is off.
    """

    skill_type: SkillType
    role: Role
    window: tuple[Seconds, Seconds]
    t: Seconds
    epoch: Annotated[int, Meta(ge=0)]
    verdict: Verdict
    risk_score: Unit
    findings: tuple[Finding, ...]
    rules: tuple[Rule, ...]
    manifest_sha256: str | None
    shell_commands: tuple[str, ...] | None
    truth: Truth
    provenance: ScoredAgainst
    checks: Checks
    semantic_subset: Unit | None
    consensus: Unit

    @property
    def part(self) -> float:
        """Return f: where in its window the answer came, 0 at t_min, 1 at the deadline (SPEC 6, eta)."""
        return Window(*self.window).part(self.t)


class Sets(NamedTuple):
    """Sets that an axis compares: the miner's claims and the truth's."""

    mine: frozenset[Any]
    expected: frozenset[Any]


class EvidencePart(NamedTuple):
    """One check that applies: what it weighs, and what it adds to epsilon's sum."""

    name: str
    weight: float
    holds: bool
    held: float


class TaskSample(NamedTuple):
    """One member's agreements and qualities in one task, and whether the task gives a sample (SPEC 9, D-50)."""

    with_primaries: float | None
    with_auditors: float | None
    own: float | None
    witnesses: float | None
    reason: Reason


class WindowStep(NamedTuple):
    """The window after one counted sample (SPEC 9).

    Attributes:
        window: what the next sample is added to; empty once agreements are those of a cohort, flag or not (D-9, D-50).
        samples: how many the means are over, this one included.
        means: of the window with this sample.
        raised: the sample raised a flag.
    """

    window: tuple[AgreementPair, ...]
    samples: int
    means: AgreementPair
    raised: bool


class TypeStanding(Document, frozen=True):
    """Facts that decide whether a miner's window of a type pays (SPEC 11, D-23).

    Attributes:
        declared: not missing from the declarations of more than half of the rounds that count.
        reputation: for the type.
        dispatches, failures: of the type in the last rounds.
        proven: no exclusion that an accepted answer has not followed.
        execution_fails: fails among the last results of execution of the type that count (SPEC 15).
    """

    declared: bool
    reputation: Unit
    dispatches: Count
    failures: Count
    proven: bool
    execution_fails: Count = 0


class MinerStanding(Document, frozen=True):
    """A miner as it is when a vector is computed; a type that is missing is undeclared (SPEC 11, D-23).

    Attributes:
        collusion_flags: standing ones, over all types.
        types: skill type to what exists.
    """

    collusion_flags: Count = 0
    types: dict[str, TypeStanding] = field(default_factory=dict)


class PayBasis(NamedTuple):
    """Inputs of a vector of 2.0.0 besides windows and standing (SPEC 17, D-41, D-42).

    Attributes:
        epoch: of the vector.
        rounds: settled rounds of 2.0.0.
        before: windows as the entries of earlier versions left them.
        records, curated: hotkey to record (D-38, D-49); absent is empty.
        presence: hotkey to skill type to presence (D-48); absent is none.
    """

    epoch: int = 0
    rounds: int = 0
    before: Mapping[str, Mapping[str, Sequence[float]]] = MappingProxyType({})
    records: Mapping[str, Record] = MappingProxyType({})
    curated: Mapping[str, Record] = MappingProxyType({})
    presence: Mapping[str, Mapping[str, Presence]] = MappingProxyType({})


NO_BASIS: Final = PayBasis()


class Ratio(NamedTuple):
    """A component of one type (SPEC 17, D-41).

    Attributes:
        got, offered: N and D of the type.
        own: o, the miner's ratio over its types, leaning on the pool's.
        ratio: r, the type's, leaning on the miner's own.
        value: what enters the quality.
    """

    got: float
    offered: float
    own: float
    ratio: float
    value: float


class TypePay(NamedTuple):
    """A paid type of one miner: its components by name, mean epsilon, quality x, and presence h (SPEC 17, D-41)."""

    components: Mapping[str, Ratio]
    epsilon: float
    quality: float
    presence: float


class TallyPay(NamedTuple):
    """Pay from tallies (SPEC 17, D-41, D-42).

    Attributes:
        scores: hotkey to assessment score.
        parts: of the paid types with entries.
        worth: what each of these types adds to a miner's score before the ramp.
        entries: hotkey to n.
        factors: hotkey to f.
        pool: component to p.
        verdicts: skill type to verdict to q.
        risks: skill type to z.
        share: lambda, the part of the pay that tallies decide.
    """

    scores: Mapping[str, float]
    parts: Mapping[str, Mapping[str, TypePay]]
    worth: Mapping[str, Mapping[str, float]]
    entries: Mapping[str, int]
    factors: Mapping[str, float]
    pool: Mapping[str, float]
    verdicts: Mapping[str, Mapping[str, float]]
    risks: Mapping[str, float]
    share: float

    def paid_types(self, hotkey: str) -> dict[str, PaidType] | UnsetType:
        """Return what the log tells of the windows of tallies that pay a miner; unset without any."""
        types = {
            name: PaidType(
                **{component: ratio.value for component, ratio in one.components.items()},
                epsilon=one.epsilon,
                quality=one.quality,
                presence=one.presence,
            )
            for name, one in self.parts.get(hotkey, {}).items()
        }
        return types or UNSET

    def pool_document(self) -> Pool:
        """Return what the log tells of all miners' tallies."""
        verdicts = {name: dict(of_type) for name, of_type in self.verdicts.items()}
        return Pool(dict(self.pool), verdicts, dict(self.risks), self.share)


class WeightPlan(NamedTuple):
    """Weights of one mechanism, with their derivation.

    Attributes:
        scores: of all miners.
        weights: capped, of those with a score above 0.
        unallocated: what could not be placed (D-11).
        assessments, workflows: hotkey to score of each kind, 0 where the mechanism does not pay it or the windows are
            unpaid (D-24).
        workflow_share: s of D-24; None where the mechanism pays one kind alone.
        unpaid: {hotkey: {skill_type: reason code}} of the windows with entries that do not pay (D-23).
        tallied: how tallies became assessment scores; None before 2.0.0.
    """

    scores: dict[str, float]
    weights: dict[str, float]
    unallocated: float
    assessments: Mapping[str, float] = MappingProxyType({})
    workflows: Mapping[str, float] = MappingProxyType({})
    workflow_share: float | None = None
    unpaid: Mapping[str, Mapping[str, str]] = MappingProxyType({})
    tallied: TallyPay | None = None


class Penalty(NamedTuple):
    """Deduction from the reliability of a run: each `times` by `weight` (SPEC 12)."""

    name: str
    weight: float
    times: int


class Fault(NamedTuple):
    """Contradiction in a run's record; `path` within the submission, like `run.steps[0].attempts`."""

    path: str
    what: str
