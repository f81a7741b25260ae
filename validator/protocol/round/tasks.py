"""The tasks of a round, a class per kind (SPEC 1, 12). What is stored of them is `TaskForm` in `forms.py`."""

from typing import ClassVar, Literal

from msgspec import UNSET, UnsetType

from validator.protocol.answer import CanarySpec
from validator.protocol.bundles import IndexEntry
from validator.protocol.round.results import Passed, Submission, WorkflowSubmission
from validator.protocol.skill_types import SkillType
from validator.protocol.sssa import Document
from validator.protocol.task import Truth, Windows
from validator.protocol.workflow_plan import goal_sha256
from validator.protocol.workflow_task import WorkflowTask, task_sha256


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

    def misnamed(self) -> tuple[str, str] | None:
        """Return the field with the hash of another document than the task holds, and how; None where all fit."""
        return None


class AssessmentTask(AnyTask, frozen=True):
    """A bundle to assess.

    Attributes:
        provenance: where the truth comes from; `none` goes without one.
        truth: what is known of the bundle.
        canary: where its marker stands; None for a bundle without one.
        index: of the bundle as dispatched.
        own_windows: whether the task came with its windows, or they are those of the round's version (D-28); unset in
            rounds from before that was noted.
        answer: what an answer to it is once it has passed.
    """

    provenance: Literal["curated", "canary", "none"]
    truth: Truth | None
    canary: CanarySpec | None
    index: tuple[IndexEntry, ...]
    own_windows: bool | UnsetType = UNSET

    answer: ClassVar[type[Passed]] = Submission

    @property
    def made_here(self) -> bool:
        """See `AnyTask`."""
        return self.provenance == "canary"


class GoalTask(AnyTask, frozen=True):
    """A workflow's goal to plan for.

    Attributes:
        goal: the task's document, with what its result is judged by.
        answer: what an answer to it is once it has passed.
    """

    goal: WorkflowTask

    answer: ClassVar[type[Passed]] = WorkflowSubmission

    def misnamed(self) -> tuple[str, str] | None:
        """See `AnyTask`."""
        if self.source_sha256 != task_sha256(self.goal):
            return "source_sha256", "is not that of the workflow's document"
        if self.bundle_sha256 != goal_sha256(self.goal):
            return "bundle_sha256", "is not that of the goal"
        return None


RoundTask = AssessmentTask | GoalTask
"""One task of a round. Its class says of which kind it is."""
