"""What the explanation of every kind of task has, whatever else it tells."""

from typing import Protocol

from validator.kinds.explained.gates import Gates
from validator.kinds.explained.selection import Selection
from validator.protocol.reasons import Reason
from validator.protocol.skill_types import SkillType
from validator.store.rows import TaskState


class TaskExplanation(Protocol):
    """One task for which the miner was a candidate; in fact a `Document` tagged with its kind."""

    @property
    def task_id(self) -> str:
        """Which task."""

    @property
    def skill_type(self) -> SkillType:
        """Its type."""

    @property
    def slot(self) -> int:
        """Its slot."""

    @property
    def state(self) -> TaskState:
        """What became of it."""

    @property
    def reason(self) -> Reason | None:
        """How it ended."""

    @property
    def meaning(self) -> str | None:
        """That in words; None for a code that this version does not know."""

    @property
    def selection(self) -> Selection:
        """Why the miner was chosen, left out or excluded."""

    @property
    def gates(self) -> Gates | None:
        """Its dispatch; None if it was not a member."""

    @property
    def entry(self) -> float | None:
        """What entered its score window; None where nothing did."""

    @property
    def entry_reason(self) -> Reason | None:
        """What that entry, or its absence, comes from."""

    @property
    def entry_meaning(self) -> str | None:
        """That in words."""

    @property
    def as_stored(self) -> bool:
        """Whether scoring the task again gave exactly what is stored of this miner."""
