"""The tasks of a round, a class per kind (SPEC 1, 12). What is stored of them is `TaskForm` in `forms.py`."""

from typing import ClassVar, Literal, Self

from msgspec import UNSET, UnsetType, structs

from validator.protocol.answer import CanarySpec
from validator.protocol.bundles import IndexEntry
from validator.protocol.round.results import Passed, Submission, WorkflowSubmission
from validator.protocol.round.truths import Digest, TruthDocument
from validator.protocol.skill_types import SkillType
from validator.protocol.sssa import Document
from validator.protocol.task import Truth, Windows
from validator.protocol.workflow_plan import goal_sha256
from validator.protocol.workflow_task import Reference, WorkflowTask, task_sha256


class AnyTask(Document, frozen=True):
    """What a task of every kind has.

    Attributes:
        task_id, skill_type, slot: which one.
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
        """Whether the validator made it on the spot, as it does canaries; else it came from a source."""
        return False

    @property
    def secret(self) -> Truth | Reference | None:
        """What answers to the task are measured by; None where there is nothing, or it is not shown."""
        return None

    def misnamed(self) -> tuple[str, str] | None:
        """Return the field that is not what the task's own document gives, and how; None where all fit."""
        return None

    @property
    def brings_windows(self) -> bool:
        """Whether it came with its windows, so that they are not those of the round's version."""
        return False


class AssessmentTask(AnyTask, frozen=True):
    """A bundle to assess.

    Attributes:
        provenance: where the truth comes from; `none` goes without one.
        truth: what is known of the bundle.
        canary: where its marker stands; None for a bundle without one.
        index: of the bundle as dispatched.
        own_windows: whether the task came with its windows, or they are those of the round's version (D-28).
        truth_random: hex of the bytes that its truth is committed to with (SPEC 16, D-31); unset where there is none.
        truth_sha256: the commitment, in a log that does not show the truth; unset everywhere else.
        answer: what an answer to it is once it has passed.
    """

    provenance: Literal["curated", "canary", "none"]
    truth: Truth | None
    canary: CanarySpec | None
    index: tuple[IndexEntry, ...]
    own_windows: bool = False
    truth_random: Digest | UnsetType = UNSET
    truth_sha256: Digest | UnsetType = UNSET

    answer: ClassVar[type[Passed]] = Submission

    @property
    def made_here(self) -> bool:
        """See `AnyTask`."""
        return self.provenance == "canary"

    @property
    def secret(self) -> Truth | None:
        """See `AnyTask`."""
        return self.truth

    def shown(self, document: TruthDocument) -> Self | None:
        """Return the task with its truth; None where the document is of another kind."""
        if document.truth is UNSET or document.reference is not UNSET:
            return None
        return structs.replace(self, truth=document.truth, truth_random=document.random, truth_sha256=UNSET)

    @property
    def brings_windows(self) -> bool:
        """See `AnyTask`."""
        return self.own_windows


class GoalTask(AnyTask, frozen=True):
    """A workflow's goal to plan for.

    Attributes:
        goal: the task's document, with what its result is judged by.
        truth_random, truth_sha256: as of an assessment; the truth is the reference.
        answer: what an answer to it is once it has passed.
    """

    goal: WorkflowTask
    truth_random: Digest | UnsetType = UNSET
    truth_sha256: Digest | UnsetType = UNSET

    answer: ClassVar[type[Passed]] = WorkflowSubmission

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
"""One task of a round. Its class says of which kind it is."""


def is_committed(task: RoundTask) -> bool:
    """Whether the log commits to the task's truth instead of showing it in the input's line."""
    return task.truth_random is not UNSET or task.truth_sha256 is not UNSET
