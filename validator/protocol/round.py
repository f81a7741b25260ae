"""One round as data: the frozen input, the plan, what came back, and the outcome (SPEC 4 to 11).

`RoundInput` holds everything that decides a round, so that plan and outcome can be recomputed from it byte for byte.
"""

from collections.abc import Iterable, Iterator
from typing import Annotated, ClassVar, Final, Literal

from msgspec import Meta, structs

from validator.protocol.answer import CanarySpec, Role
from validator.protocol.bundles import IndexEntry
from validator.protocol.capabilities import SandboxImage
from validator.protocol.reasons import Reason
from validator.protocol.skill_types import SkillType, is_runtime
from validator.protocol.sssa import Document, Sssa, Unit
from validator.protocol.task import Truth, Windows
from validator.protocol.workflow_plan import WorkflowPlan, goal_sha256
from validator.protocol.workflow_run import RunRecord
from validator.protocol.workflow_score import WorkflowRun, WorkflowScore
from validator.protocol.workflow_task import WorkflowTask, task_sha256

INPUT_VERSION: Final = "1"

Mode = Literal["full", "degraded_4", "degraded_3", "quality_only", "skip"]
ReputationKind = Literal[
    "consensus_high",
    "consensus_low",
    "invalid",
    "violation",
    "digest_mismatch",
    "probe_fail",
    "rerun_pass",
    "rerun_fail",
    "collusion_flag",
    "recovery",
]


class Axon(Document, frozen=True):
    """Where a miner listens, as announced on chain."""

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
        netuid: the subnet.
        block: block number.
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


class TypeHistory(Document, frozen=True):
    """What a miner did for one skill type, as selection needs it (SPEC 8).

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
    """One counted collusion sample (SPEC 9)."""

    with_primaries: float
    with_auditors: float


class MinerState(Document, frozen=True):
    """A registered miner that declared something.

    Attributes:
        hotkey: its key.
        skill_types: usable declared types, in the spec's order.
        max_concurrent: open dispatches per type it takes.
        sandbox_images: declared image per runtime type.
        reputations: per type, before the round; absent means 0.5.
        flags: standing collusion flags, over all types.
        history: per type.
        agreements: counted samples per type since the last flag, oldest first, at most 30.
    """

    hotkey: str
    skill_types: tuple[SkillType, ...]
    max_concurrent: int
    sandbox_images: dict[SkillType, SandboxImage]
    reputations: dict[SkillType, float]
    flags: int
    history: dict[SkillType, TypeHistory]
    agreements: dict[SkillType, tuple[AgreementPair, ...]]


class RoundTask(Document, frozen=True):
    """One task of the round.

    Attributes:
        task_id, skill_type, slot: which one.
        source_sha256: of the bundle before a marker; of a workflow task's document.
        bundle_sha256: of the bundle as dispatched; of a workflow's goal as dispatched.
        nonce: hex of 32 bytes.
        windows: per role.
        provenance, truth, canary: of an assessment; a workflow has none of them.
        index: of the bundle as dispatched; empty for a workflow.
        workflow: the task's document; None for an assessment.
    """

    task_id: str
    skill_type: SkillType
    slot: int
    source_sha256: str
    bundle_sha256: str
    nonce: str
    windows: Windows
    provenance: Literal["curated", "canary", "none"]
    truth: Truth | None
    canary: CanarySpec | None
    index: tuple[IndexEntry, ...]
    workflow: WorkflowTask | None = None

    @property
    def goal(self) -> WorkflowTask:
        """The document of a workflow task.

        Raises:
            ValueError: it is no workflow task.
        """
        if self.workflow is None:
            raise ValueError(f"task {self.task_id} is no workflow task")
        return self.workflow

    def fault(self) -> tuple[str, str] | None:
        """Return the field that contradicts the others, and how; None where all go together."""
        if (self.workflow is not None) != (self.skill_type is SkillType.WORKFLOW):
            return "workflow", "goes with tasks of type workflow, and only with them"
        if self.workflow is not None and self.source_sha256 != task_sha256(self.workflow):
            return "source_sha256", "is not that of the workflow's document"
        if self.workflow is not None and self.bundle_sha256 != goal_sha256(self.workflow):
            return "bundle_sha256", "is not that of the goal"
        return None


class RerunResult(Document, frozen=True):
    """A sandbox rerun that ended since the last round (SPEC 15)."""

    rerun_id: str
    hotkey: str
    skill_type: SkillType
    event: Literal["rerun_pass", "rerun_fail", "digest_mismatch"]


class RoundInput(Document, frozen=True):
    """Everything that decides a round, frozen before its first dispatch.

    Attributes:
        input_version: form of this document.
        scoring_version: which code scores it.
        round_id: decimal index at this validator.
        validator_hotkey: who runs the round.
        snapshot: the metagraph it is pinned to.
        seed: hex of round_seed (SPEC 8); secret while its epoch's salt is in use.
        salt_commitment: sha256 of the epoch's salt, hex.
        miners: by hotkey.
        tasks: in plan order.
        reruns: results since the last round, by rerun id.
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
    reruns: tuple[RerunResult, ...] = ()


class GroupPlan(Document, frozen=True):
    """Who gets one task (SPEC 8).

    Attributes:
        primaries: in rank order.
        auditors: in draw order.
        promoted: by rotation, in the order it happened.
        demoted: pushed out by rotation, in the order it happened.
        excluded: hotkey to reason code.
    """

    task_id: str
    mode: Mode
    primaries: tuple[str, ...]
    auditors: tuple[str, ...]
    promoted: tuple[str, ...]
    demoted: tuple[str, ...]
    excluded: dict[str, str]

    @property
    def members(self) -> tuple[tuple[str, Role], ...]:
        """(hotkey, role) of everyone who gets the task: primaries by rank, then auditors by draw."""
        primaries: tuple[tuple[str, Role], ...] = tuple((hotkey, "primary") for hotkey in self.primaries)
        return primaries + tuple((hotkey, "auditor") for hotkey in self.auditors)


class RoundPlan(Document, frozen=True):
    """The groups of a round, in the order of its tasks."""

    round_id: str
    groups: tuple[GroupPlan, ...]


class Checks(Document, frozen=True):
    """What the gates established for epsilon; None where a check does not apply to role and type (SPEC 6)."""

    probes: bool
    traces: bool | None
    manifest_digest: bool | None
    evidence_resolves: bool
    canary: bool | None


class Submission(Document, frozen=True):
    """An answer that passed gates 1 to 6.

    Attributes:
        seconds: from the first byte sent to the last byte received.
        sssa: as signed.
        sssa_sha256: of its canonical bytes with the signature's value.
        checks: facts for epsilon.
        semantic_subset: gate 7; None where it does not apply (D-21).
        shell_commands: expected commands that the shell_commands trace shows; None where sigma does not apply.
        signed_part: what replay calls the stored document of an answer of this kind.
    """

    task_id: str
    hotkey: str
    role: Role
    seconds: Annotated[float, Meta(ge=0)]
    sssa: Sssa
    sssa_sha256: str
    checks: Checks
    semantic_subset: float | None = None
    shell_commands: tuple[str, ...] | None = None

    signed_part: ClassVar[str] = "sssa"

    @property
    def sha256(self) -> str:
        """Of what the miner signed."""
        return self.sssa_sha256

    def reason(self, windows: Windows) -> Reason:
        """Return the code of an answer that passed, in the windows of its task."""
        return Reason.ACCEPTED_EARLY if self.seconds < windows.of(self.role).t_min else Reason.ACCEPTED

    def is_witness(self, skill_type: SkillType) -> bool:
        """Whether other answers to its task are held against it (gate 7)."""
        return self.role == "primary" and is_runtime(skill_type)

    def alone(self) -> "Submission":
        """Return it without what other answers decide."""
        return structs.replace(self, semantic_subset=None)


class WorkflowSubmission(Document, frozen=True):
    """A plan that passed gates 1 to 3, and what came of running it (SPEC 12).

    Attributes:
        seconds: from the first byte sent to the last byte received.
        plan: as signed.
        plan_sha256: of its canonical bytes with the signature's value.
        run: every step as it went.
        quality: of the output; None while it cannot be judged (deferred).
        signed_part: what replay calls the stored documents of an answer of this kind.
    """

    task_id: str
    hotkey: str
    role: Role
    seconds: Annotated[float, Meta(ge=0)]
    plan: WorkflowPlan
    plan_sha256: str
    run: RunRecord
    quality: Unit | None

    signed_part: ClassVar[str] = "plan_or_run"

    @property
    def sha256(self) -> str:
        """Of what the miner signed."""
        return self.plan_sha256

    def reason(self, _windows: Windows) -> Reason:
        """Return the code of a plan that passed: there is none too early for one."""
        return Reason.ACCEPTED

    def is_witness(self, _skill_type: SkillType) -> bool:
        """Whether other answers to its task are held against it: plans are not compared."""
        return False

    def alone(self) -> "WorkflowSubmission":
        """Return it without what other answers decide: that is nothing."""
        return self


Passed = Submission | WorkflowSubmission
"""An answer that passed its gates. Its class says of which kind it is; on the wire, the list that it stands in does."""


class Rejection(Document, frozen=True):
    """A dispatch that failed a gate. `reason` is a code; `seconds` is None where nothing was sent."""

    task_id: str
    hotkey: str
    role: Role
    reason: str
    seconds: float | None = None

    @property
    def gate(self) -> int:
        """Return the number of the gate that failed."""
        return Reason(self.reason).gate


Judgement = Passed | Rejection


def answer_type(skill_type: SkillType) -> type[Passed]:
    """Return what an answer to a task of this type is once it has passed."""
    return WorkflowSubmission if skill_type is SkillType.WORKFLOW else Submission


class VoidTask(Document, frozen=True):
    """A task that enters nothing for anyone (D-6)."""

    task_id: str
    reason: str


class RoundResults(Document, frozen=True):
    """Everything that came back, in the order of the plan: the second argument of score_round.

    A list per kind of answer: `of` sorts judgements into them, `passed` has them together.
    """

    submissions: tuple[Submission, ...]
    rejections: tuple[Rejection, ...]
    void: tuple[VoidTask, ...] = ()
    workflows: tuple[WorkflowSubmission, ...] = ()

    @classmethod
    def of(cls, judgements: Iterable[Judgement], void: tuple[VoidTask, ...] = ()) -> "RoundResults":
        """Return the results that these judgements are, given in the order of the plan."""
        every = tuple(judgements)
        return cls(
            submissions=tuple(one for one in every if isinstance(one, Submission)),
            rejections=tuple(one for one in every if isinstance(one, Rejection)),
            void=void,
            workflows=tuple(one for one in every if isinstance(one, WorkflowSubmission)),
        )

    @property
    def passed(self) -> tuple[Passed, ...]:
        """Every answer that passed, of whatever kind; of each kind in the order of the plan."""
        return (*self.submissions, *self.workflows)

    def placed(self) -> Iterator[tuple[str, Passed]]:
        """Yield `passed` with the place of each on the wire, like `workflows[0]`."""
        for name in ("submissions", "workflows"):
            for i, answer in enumerate(getattr(self, name)):
                yield f"{name}[{i}]", answer


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
    """What a run was measured at, and what that is worth (SPEC 12)."""

    measured: WorkflowRun
    score: WorkflowScore


class MemberOutcome(Document, frozen=True):
    """What one dispatch came to.

    `emission` is None for a failed gate (it enters the window as 0), for D-7 and for workflows, which are worth what
    `workflow` says; that is None while the quality of the output is not known.
    """

    task_id: str
    hotkey: str
    role: Role
    reason: str
    components: Components | None
    consensus: float
    agreement_with_primaries: float | None
    agreement_with_auditors: float | None
    emission: Emission | None
    window_entry: float | None
    workflow: WorkflowOutcome | None = None


class GroupOutcome(Document, frozen=True):
    """A task's group result (SPEC 4). Sets are sorted; `verdict` and `mean_risk` None below 3 valid SSSAs."""

    task_id: str
    reason: str
    mode: Mode
    n_valid: int
    threshold: int
    verdict: str | None
    mean_risk: float | None
    finding_keys: tuple[str, ...]
    provenance: Literal["curated", "canary", "consensus"] | None
    scored_verdict: str | None
    auditor_agreement: float | None


class AgreementSample(Document, frozen=True):
    """A collusion sample of one (hotkey, skill_type, round); stored whether it counted or not (SPEC 9)."""

    hotkey: str
    skill_type: SkillType
    with_primaries: float | None
    with_auditors: float | None
    counted: bool
    reason: str


class FlagRaised(Document, frozen=True):
    """A collusion flag with the means that raised it."""

    hotkey: str
    skill_type: SkillType
    mean_with_primaries: float
    mean_with_auditors: float
    samples: int


class ReputationEvent(Document, frozen=True):
    """One step of one reputation, in the order of SPEC 10. `cause` is a task id, a rerun id or empty."""

    hotkey: str
    skill_type: SkillType
    kind: ReputationKind
    cause: str
    before: float
    after: float


class RoundOutcome(Document, frozen=True):
    """What a round comes to; one transaction stores it."""

    round_id: str
    scoring_version: str
    groups: tuple[GroupOutcome, ...]
    members: tuple[MemberOutcome, ...]
    samples: tuple[AgreementSample, ...]
    flags: tuple[FlagRaised, ...]
    reputation: tuple[ReputationEvent, ...]
