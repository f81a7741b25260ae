"""The frozen input: everything that decides a round, written down before its first dispatch (SPEC 4 to 11)."""

from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, UnsetType

from validator.protocol.answer import CanarySpec, Id, Role
from validator.protocol.bundles import IndexEntry
from validator.protocol.capabilities import SandboxImage
from validator.protocol.round.snapshot import MetagraphSnapshot
from validator.protocol.skill_types import SkillType
from validator.protocol.sssa import Document
from validator.protocol.task import Truth, Windows
from validator.protocol.workflow_plan import goal_sha256
from validator.protocol.workflow_task import WorkflowTask, task_sha256

INPUT_VERSION: Final = "1"


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
    """A sandbox rerun that ended since the last round (SPEC 15).

    Attributes:
        rerun_id: orders the results.
        hotkey, skill_type: whose answer was run again, and for which type.
        event: what it came to.
        round_id, task_id: which answer it was; unset in results of 1.0.0, which cost reputation alone.
    """

    rerun_id: str
    hotkey: str
    skill_type: SkillType
    event: Literal["rerun_pass", "rerun_fail", "digest_mismatch"]
    round_id: Annotated[str, Meta(pattern=r"\A(0|[1-9][0-9]{0,15})\Z")] | UnsetType = UNSET
    task_id: Id | UnsetType = UNSET


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
