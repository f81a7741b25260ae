"""A round as data: its frozen input, its plan and its outcome (SPEC 4 to 11), and truths in the log (SPEC 16, D-31).

`RoundInput` holds everything that decides a round, so that plan and outcome can be recomputed from it byte for byte.
What came back in between is `results.py`. Tasks and members of groups are unions, tagged with their `kind`.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final, Literal, Self

from msgspec import UNSET, Meta, UnsetType, structs

from sssa.protocol.answer import CanarySpec, Id, Role
from sssa.protocol.bundles import IndexEntry
from sssa.protocol.canonical import canonical_bytes, sha256_hex
from sssa.protocol.execution import ExecutionEvent
from sssa.protocol.reasons import Reason
from sssa.protocol.results import Passed, Submission, WorkflowSubmission
from sssa.protocol.runtime_image import RuntimeImage
from sssa.protocol.skill_types import OfAssessment, SkillType
from sssa.protocol.sssa import Document, Unit
from sssa.protocol.tallies import Presence, Record, Tally
from sssa.protocol.task import Truth, Windows
from sssa.protocol.workflow_plan import goal_sha256
from sssa.protocol.workflow_run import CodeReport, WorkflowRun, WorkflowScore
from sssa.protocol.workflow_task import Reference, WorkflowTask, task_sha256


class Axon(Document, frozen=True):
    """Address at which a miner listens, as announced on chain."""

    ip: str
    port: int
    tls: bool = False


class Neuron(Document, frozen=True):
    """One slot of the metagraph. `stake_tao` in TAO."""

    hotkey: str
    uid: int
    stake_tao: float
    validator_permit: bool
    axon: Axon | None
    last_update: int = 0


class MetagraphSnapshot(Document, frozen=True):
    """The subnet as of one block; every read of a round is pinned to it.

    Attributes:
        block_hash: lower-case hex without 0x.
        block_time: the block's time, seconds since the Unix epoch.
        epoch: subnet epoch index (D-22).
        tempo: blocks in an epoch, less one.
        owner_hotkey: who takes what cannot be placed (D-11); None where the chain names nobody.
        neurons: by uid.
    """

    netuid: int
    block: int
    block_hash: str
    block_time: int
    epoch: int
    tempo: int
    owner_hotkey: str | None
    neurons: tuple[Neuron, ...]

    def by_hotkey(self, hotkey: str) -> Neuron | None:
        """Return the neuron registered with `hotkey`, None if there is none."""
        return next((neuron for neuron in self.neurons if neuron.hotkey == hotkey), None)


TRUTH_BYTES: Final = 32
"""Random bytes before a truth, so that nobody can guess one and know."""

Digest = Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]


class TruthDocument(Document, frozen=True):
    """Content of a truth's line.

    Attributes:
        random: hex of 32 bytes.
        truth: of an assessment, and absent else.
        reference: of a workflow task, and absent else.
    """

    task_id: str
    random: Digest
    truth: Truth | UnsetType = UNSET
    reference: Reference | UnsetType = UNSET


class CuratedDocument(Document, frozen=True):
    """Content of the line of a round's curated records (SPEC 17, D-49).

    Attributes:
        random: hex of 32 bytes.
        records: by hotkey, of every miner of the input.
    """

    random: Digest
    records: dict[str, Record]


class AnyTask(Document, frozen=True, tag_field="kind"):
    """Fields of a task of any kind.

    Attributes:
        source_sha256: of the bundle before a marker; of a workflow task's document.
        bundle_sha256: of the bundle as dispatched; of a workflow's goal as dispatched.
        nonce: hex of 32 bytes.
        windows: per role.
    """

    task_id: str
    skill_type: SkillType
    slot: int
    source_sha256: str
    bundle_sha256: str
    nonce: str
    windows: Windows

    @property
    def made_here(self) -> bool:
        """True if the validator made the task itself, as it does canaries; False if it came from a source."""
        return False

    @property
    def secret(self) -> Truth | Reference | None:
        """Truth or reference that answers are measured by; None if there is none, or it is not shown."""
        return None

    def misnamed(self) -> tuple[str, str] | None:
        """Return the field that is not what the task's own document gives, and how; None where all fit."""
        return None

    @property
    def brings_windows(self) -> bool:
        """True if the task came with its own windows instead of those of the round's version."""
        return False


class AssessmentTask(OfAssessment, AnyTask, frozen=True, tag="assessment"):
    """A bundle to assess.

    Attributes:
        provenance: where the truth comes from; `none` goes without one.
        truth: what is known of the bundle.
        canary: the place of its marker; None for a bundle without one.
        index: of the bundle as dispatched.
        own_windows: whether the task came with its windows, or they are those of the round's version (D-28).
        truth_random: hex of the bytes that its truth is committed to with (SPEC 16, D-31); unset where there is none.
        truth_sha256: the commitment, in a log that does not show the truth; unset everywhere else.
        first: no task that was frozen before has its source bundle (SPEC 17, D-49); unset before 2.0.0.
        submitted: somebody submitted it: its answers enter nothing (SPEC 5, D-45); unset for all others.
        answer: what an answer to it is once it has passed.
    """

    provenance: Literal["curated", "canary", "none"]
    truth: Truth | None
    canary: CanarySpec | None
    index: tuple[IndexEntry, ...]
    own_windows: bool = False
    truth_random: Digest | UnsetType = UNSET
    truth_sha256: Digest | UnsetType = UNSET
    first: bool | UnsetType = UNSET
    submitted: Literal[True] | UnsetType = UNSET

    answer: ClassVar[type[Passed]] = Submission

    @property
    def made_here(self) -> bool:
        """See `AnyTask`."""
        return self.provenance == "canary"

    @property
    def planted(self) -> bool:
        """True if it was made here with a truth that lists its findings (SPEC 17, D-36); False if that is not shown."""
        return self.made_here and self.truth is not None and isinstance(self.truth.findings, tuple)

    @property
    def secret(self) -> Truth | None:
        """See `AnyTask`."""
        return self.truth

    def shown(self, document: TruthDocument) -> Self | None:
        """Return the task with its truth; None where the document is of another kind."""
        if document.truth is UNSET or document.reference is not UNSET:
            return None
        return structs.replace(
            self,
            truth=document.truth,
            truth_random=document.random,
            truth_sha256=UNSET,
        )

    @property
    def brings_windows(self) -> bool:
        """See `AnyTask`."""
        return self.own_windows


class GoalTask(AnyTask, frozen=True, tag="workflow"):
    """A workflow's goal to plan for.

    Attributes:
        provenance: a source gives all of them.
        goal: the task's document, with what its result is judged by.
        truth_random, truth_sha256: as of an assessment; the truth is the reference.
        answer: what an answer to it is once it has passed.
    """

    goal: WorkflowTask
    truth_random: Digest | UnsetType = UNSET
    truth_sha256: Digest | UnsetType = UNSET

    provenance: ClassVar[Literal["curated"]] = "curated"
    answer: ClassVar[type[Passed]] = WorkflowSubmission

    def __post_init__(self) -> None:
        if self.skill_type is not SkillType.WORKFLOW:
            raise ValueError("`skill_type` must be workflow")

    @property
    def secret(self) -> Reference | None:
        """See `AnyTask`."""
        return None if self.goal.reference == Reference() else self.goal.reference

    def shown(self, document: TruthDocument) -> Self | None:
        """See `AssessmentTask`."""
        if document.reference is UNSET or document.truth is not UNSET:
            return None
        goal = structs.replace(self.goal, reference=document.reference)
        return structs.replace(self, goal=goal, truth_random=document.random, truth_sha256=UNSET)

    def misnamed(self) -> tuple[str, str] | None:
        """See `AnyTask`."""
        if self.truth_sha256 is UNSET and self.source_sha256 != task_sha256(self.goal):
            return "source_sha256", "is not that of the workflow's document"
        if self.bundle_sha256 != goal_sha256(self.goal):
            return "bundle_sha256", "is not that of the goal"
        if self.goal.windows is not None and self.windows != self.goal.windows:
            return "windows", "are not those of the workflow's document"
        return None

    @property
    def brings_windows(self) -> bool:
        """See `AnyTask`."""
        return self.goal.windows is not None


RoundTask = AssessmentTask | GoalTask
"""One task of a round; its class, in documents its `kind`, is its kind."""


def is_submitted(task: RoundTask) -> bool:
    """Return whether somebody submitted the bundle, so that its answers enter nothing (SPEC 5, D-45)."""
    return isinstance(task, AssessmentTask) and task.submitted is True


def is_committed(task: RoundTask) -> bool:
    """Return whether the log commits to the task's truth instead of showing it in the input's line."""
    return task.truth_random is not UNSET or task.truth_sha256 is not UNSET


MAX_ACTS: Final = 64  # in one input; the others are for the next
RoundId = Annotated[str, Meta(pattern=r"\A(0|[1-9][0-9]{0,15})\Z")]
MAX_REASON: Final = 2_000  # code points


class ClearedFlag(Document, frozen=True):
    """A collusion flag, by its type and the round that raised it: of a miner and a type there is at most one in it."""

    skill_type: SkillType
    round_id: RoundId


ActHotkey = Annotated[str, Meta(pattern=r"\A[1-9A-HJ-NP-Za-km-z]{1,64}\Z")]
ActReason = Annotated[str, Meta(min_length=1, max_length=MAX_REASON)]


class FlagsCleared(Document, frozen=True):
    """An operator cleared flags of a miner, which no longer are in the input that has the act.

    Attributes:
        at: when, SPEC 13 form.
        reason: that the operator gave, as stored: one printable line.
        flags: by the round that raised them, then by type; never none.
    """

    hotkey: ActHotkey
    at: str
    reason: ActReason
    flags: Annotated[tuple[ClearedFlag, ...], Meta(min_length=1, max_length=1_000)]


Acts = Annotated[tuple[FlagsCleared, ...], Meta(max_length=MAX_ACTS)]


INPUT_VERSION: Final = "1"


class TypeHistory(Document, frozen=True):
    """History of a miner for one skill type, as selection needs it (SPEC 8).

    Attributes:
        recent_roles: one role per round in which it was assigned, newest first.
        dispatches: dispatches of the last 30 rounds.
        failures: those of them that failed a gate.
        in_flight: dispatches of earlier rounds that are still open.
    """

    recent_roles: tuple[Role, ...] = ()
    dispatches: int = 0
    failures: int = 0
    in_flight: int = 0


class AgreementPair(Document, frozen=True):
    """One counted collusion sample: agreements, own quality and that of the witnesses (SPEC 9, D-50)."""

    with_primaries: float
    with_auditors: float
    own: float
    witnesses: float


class MinerState(Document, frozen=True):
    """A registered miner that declared something.

    Attributes:
        skill_types: usable declared types, in the spec's order.
        max_concurrent: open dispatches per type it takes.
        reputations: per type, before the round; absent means 0.5.
        flags: standing collusion flags, over all types.
        history: per type.
        agreements: counted samples per type since the last flag, oldest first, at most 30.
        turns: of the declared types (SPEC 17, D-34); unset before 2.0.0.
        presence: of the declared types that are assessed (SPEC 17, D-48); unset before 2.0.0.
        record: of its planted answers (SPEC 17, D-38); unset before 2.0.0.
        curated: of its answers to curated tasks that were first (SPEC 17, D-49); unset before 2.0.0.
    """

    hotkey: str
    skill_types: tuple[SkillType, ...]
    max_concurrent: int
    reputations: dict[SkillType, float]
    flags: int
    history: dict[SkillType, TypeHistory]
    agreements: dict[SkillType, tuple[AgreementPair, ...]]
    turns: dict[SkillType, int] | UnsetType = UNSET
    presence: dict[SkillType, Presence] | UnsetType = UNSET
    record: Record | UnsetType = UNSET
    curated: Record | UnsetType = UNSET


class ExecutionResult(Document, frozen=True):
    """The result of an answer whose task was executed since the last round (SPEC 15).

    Attributes:
        round_id, task_id, hotkey: which answer; of an earlier round.
        skill_type: of the task.
        event: result of the comparison; None where only the second look at families passes.
    """

    round_id: RoundId
    task_id: Id
    hotkey: str
    skill_type: SkillType
    event: ExecutionEvent | None


class FilledQuality(Document, frozen=True):
    """A quality that was deferred and came since the last round: the answer is worth its score with it (SPEC 12).

    Attributes:
        check_id: orders them.
        round_id, task_id, hotkey: whose answer it is; of an earlier round.
        report: what the task's tests and the linter found.
        score: S by the scoring version of the answer's round, of what was measured then and the report's quality.
    """

    check_id: str
    round_id: RoundId
    task_id: Id
    hotkey: str
    report: CodeReport
    score: Unit


class RoundInput(Document, frozen=True):
    """Everything that decides a round, frozen before its first dispatch.

    Attributes:
        input_version: form of this document.
        round_id: decimal index at this validator.
        seed: hex of round_seed (SPEC 8); secret while its epoch's salt is in use.
        salt_commitment: sha256 of the epoch's salt, hex.
        miners: by hotkey.
        tasks: in plan order.
        runtime_image: what runs the bundles of runtime types, at miners and here.
        executes: this validator executes them (SPEC 15).
        executions: results since the last round, by round, then plan order of the task, then group order.
        filled: qualities of earlier rounds' answers since the last round, by check id.
        acts: of the operator since the last round, by time, then hotkey (SPEC 16, D-28).
        curated_random: hex of the bytes that curated records are committed to with (SPEC 17); unset before 2.0.0.
        curated_sha256: the commitment, in a log that does not show the records; unset everywhere else.
    """

    input_version: Literal["1"]
    scoring_version: str
    round_id: str
    validator_hotkey: str
    snapshot: MetagraphSnapshot
    seed: str
    salt_commitment: str
    miners: tuple[MinerState, ...]
    tasks: tuple[RoundTask, ...]
    runtime_image: RuntimeImage
    executes: bool
    executions: tuple[ExecutionResult, ...]
    filled: tuple[FilledQuality, ...]
    acts: Acts
    curated_random: Digest | UnsetType = UNSET
    curated_sha256: Digest | UnsetType = UNSET

    @property
    def index(self) -> int:
        """The round's id as the number that the program counts and stores by."""
        return int(self.round_id)


Mode = Literal["full", "degraded_4", "degraded_3", "quality_only", "skip"]


class GroupPlan(Document, frozen=True):
    """Members selected for one task (SPEC 8).

    Attributes:
        primaries: in rank order.
        auditors: in draw order.
        promoted: by rotation, in the order it happened.
        demoted: pushed out by rotation, in the order it happened.
        excluded: hotkey to reason.
    """

    task_id: str
    mode: Mode
    primaries: tuple[str, ...]
    auditors: tuple[str, ...]
    promoted: tuple[str, ...]
    demoted: tuple[str, ...]
    excluded: dict[str, Reason]

    @property
    def members(self) -> tuple[tuple[str, Role], ...]:
        """(hotkey, role) of everyone who gets the task: primaries by rank, then auditors by draw."""
        primaries: tuple[tuple[str, Role], ...] = tuple((hotkey, "primary") for hotkey in self.primaries)
        return primaries + tuple((hotkey, "auditor") for hotkey in self.auditors)


class RoundPlan(Document, frozen=True):
    """The groups of a round, in the order of its tasks."""

    round_id: str
    groups: tuple[GroupPlan, ...]


TaskEndState = Literal["settled", "void", "skipped"]
_SETTLED: Final = frozenset({Reason.SETTLED, Reason.VOID_NO_VERDICT})
_SKIPPED: Final = frozenset({Reason.SKIPPED_NO_CANDIDATES, Reason.SKIPPED_NO_TASKS})

ReputationKind = Literal[
    "consensus_high",
    "consensus_low",
    "truth_high",
    "truth_low",
    "invalid",
    "violation",
    "digest_mismatch",
    "probe_fail",
    "rerun_pass",
    "rerun_fail",
    "collusion_flag",
    "recovery",
]


class Components(Document, frozen=True):
    """The seven components of SPEC 4, each in [0, 1]."""

    findings_recall: float
    findings_precision: float
    verdict_agreement: float
    capabilities_agreement: float
    risk_agreement: float
    dependencies_agreement: float
    policy_agreement: float


class Emission(Document, frozen=True):
    """One answer's reward with everything that made it (SPEC 6, 7)."""

    axes: dict[str, float]
    epsilon: float
    quality: float
    base_weight: float
    tier: float
    early_bonus: float
    role: float
    consensus: float
    bootstrap: float
    emission: float


class WorkflowOutcome(Document, frozen=True):
    """Measurements of a run, and their score (SPEC 12)."""

    measured: WorkflowRun
    score: WorkflowScore


class AnyMember(Document, frozen=True, tag_field="kind"):
    """Result of any dispatch.

    Attributes:
        consensus: in [0, 1]; 1.0 where nothing was compared, 0.0 for a failed gate.
        window_entry: what enters the miner's score window; None where nothing does.
    """

    task_id: str
    hotkey: str
    role: Role
    reason: Reason
    consensus: float
    window_entry: float | None


class FailedMember(AnyMember, frozen=True, tag="failed"):
    """A dispatch of either kind that failed a gate; from 2.0.0 on with fields as of `AssessedMember`."""

    tally: Tally | UnsetType | None = UNSET
    answer_score: float | UnsetType | None = UNSET
    curated_score: float | UnsetType | None = UNSET


class AssessedMember(AnyMember, frozen=True, tag="assessed"):
    """A valid answer to an assessment.

    Attributes:
        components: None where consensus is off (D-3).
        agreement_with_primaries, agreement_with_auditors: None without a counterpart.
        emission: None where there is no verdict to score against (D-7).
        tally: entry of the score window (SPEC 17, D-38); unset before 2.0.0, as are the fields below.
        answer_score: of a planted task (SPEC 17, D-38).
        curated_score: of a curated task that is first (SPEC 17, D-49).
        weight: in what others are compared with (SPEC 17, D-37).
    """

    components: Components | None
    agreement_with_primaries: float | None
    agreement_with_auditors: float | None
    emission: Emission | None
    tally: Tally | UnsetType | None = UNSET
    answer_score: float | UnsetType | None = UNSET
    curated_score: float | UnsetType | None = UNSET
    weight: float | UnsetType = UNSET


class RanMember(AnyMember, frozen=True, tag="ran"):
    """A plan that was run; `workflow` is None while the quality of its output is not known."""

    workflow: WorkflowOutcome | None


MemberOutcome = FailedMember | AssessedMember | RanMember
"""Outcome of one dispatch; its class, in documents its `kind`, is failed, assessed or ran."""


class GroupOutcome(Document, frozen=True):
    """A task's group result (SPEC 4). Sets are sorted; `verdict` and `mean_risk` None below 3 valid SSSAs."""

    task_id: str
    reason: Reason
    mode: Mode
    n_valid: int
    threshold: int
    verdict: str | None
    mean_risk: float | None
    finding_keys: tuple[str, ...]
    provenance: Literal["curated", "canary", "consensus"] | None
    scored_verdict: str | None
    auditor_agreement: float | None

    @property
    def task_state(self) -> TaskEndState:
        """Return the state in which the reason leaves the task."""
        if self.reason in _SETTLED:
            return "settled"
        return "skipped" if self.reason in _SKIPPED else "void"


class AgreementSample(Document, frozen=True):
    """A collusion sample of one (hotkey, skill_type, round); stored whether it counted or not (SPEC 9).

    Attributes:
        own, witnesses: the member's quality, and that of the auditors other than the member (D-50).
    """

    hotkey: str
    skill_type: SkillType
    with_primaries: float | None
    with_auditors: float | None
    own: float | None
    witnesses: float | None
    counted: bool
    reason: Reason


class FlagRaised(Document, frozen=True):
    """A collusion flag with the means that raised it."""

    hotkey: str
    skill_type: SkillType
    mean_with_primaries: float
    mean_with_auditors: float
    mean_own: float
    mean_witnesses: float
    samples: int


class ReputationEvent(Document, frozen=True):
    """One step of one reputation, in the order of SPEC 10. `cause` is a task id or empty."""

    hotkey: str
    skill_type: SkillType
    kind: ReputationKind
    cause: str
    before: float
    after: float


class RoundOutcome(Document, frozen=True):
    """Result of a round; one transaction stores it."""

    round_id: str
    scoring_version: str
    groups: tuple[GroupOutcome, ...]
    members: tuple[MemberOutcome, ...]
    samples: tuple[AgreementSample, ...]
    flags: tuple[FlagRaised, ...]
    reputation: tuple[ReputationEvent, ...]


def truth_sha256(random: str, secret: Any) -> str:
    """Return the commitment to a truth: sha256 of the random bytes, given in hex, and the truth's canonical bytes."""
    return sha256_hex(bytes.fromhex(random) + canonical_bytes(secret))


def take_truths(tasks: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Put commitments in the place of truths in the plain forms of a round's tasks; return the truths' documents.

    Tasks without random bytes are of rounds from before truths were committed to, or have no truth: they stay.
    """
    return [_take(task) for task in tasks if "truth_random" in task]


def _take(task: dict[str, Any]) -> dict[str, Any]:
    random, goal = task.pop("truth_random"), task.get("goal")
    if goal is None:
        name, secret, task["truth"] = "truth", task["truth"], None
    else:
        name, secret, goal["reference"] = "reference", goal["reference"], {}
    task["truth_sha256"] = truth_sha256(random, secret)
    return {"task_id": task["task_id"], "random": random, name: secret}


def take_curated(frozen: dict[str, Any]) -> dict[str, Any] | None:
    """Put a commitment in the place of curated records in an input's plain form; return their document, if any."""
    random = frozen.pop("curated_random", None)
    if random is None:
        return None
    records = {one["hotkey"]: one.pop("curated") for one in frozen["miners"]}
    frozen["curated_sha256"] = truth_sha256(random, records)
    return {"random": random, "records": records}


def commands_of(documents: Sequence[Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    """Return by task the expected commands of every truth that `take_truths` took."""
    return {one["task_id"]: tuple((one.get("truth") or {}).get("shell_commands") or ()) for one in documents}


def committed_tasks(frozen: RoundInput) -> set[str]:
    """Return the ids of the tasks whose truths the log commits to."""
    return {task.task_id for task in frozen.tasks if is_committed(task)}


def published_outcome(outcome: RoundOutcome, committed: Collection[str]) -> RoundOutcome:
    """Return a round's outcome in its public form.

    It is without what follows from the truths of `committed` tasks, and without the weights, which would tell curated
    records and follow from them (SPEC 17).
    """
    return structs.replace(
        outcome,
        groups=tuple(
            structs.replace(one, scored_verdict=None) if one.task_id in committed else one for one in outcome.groups
        ),
        members=tuple(_published_member(one, committed) for one in outcome.members),
    )


TALLY_FROM_TRUTH: Final = ("hits", "said", "known", "reference", "risk", "risk_null")


def _published_member(member: MemberOutcome, committed: Collection[str]) -> MemberOutcome:
    """Return a member's outcome without its weight and what follows from a committed truth (SPEC 17)."""
    if not isinstance(member, AssessedMember | FailedMember) or member.tally is UNSET:
        return member
    if isinstance(member, AssessedMember):
        member = structs.replace(member, weight=UNSET)
    if member.task_id not in committed:
        return member
    tally = member.tally
    if isinstance(tally, Tally):
        tally = structs.replace(tally, **dict.fromkeys(TALLY_FROM_TRUTH))
    return structs.replace(member, tally=tally, answer_score=None, curated_score=None)


def expected_commands(frozen: RoundInput) -> Mapping[str, tuple[str, ...]]:
    """Return the commands that truths ask for, by task; of tasks alone whose truth is committed to and known here."""
    truths = {task.task_id: task.secret for task in frozen.tasks if is_committed(task)}
    return {task_id: truth.shell_commands or () for task_id, truth in truths.items() if isinstance(truth, Truth)}
