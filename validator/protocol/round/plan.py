"""The plan of a round: who gets which task (SPEC 8)."""

from typing import Literal

from validator.protocol.answer import Role
from validator.protocol.reasons import Reason
from validator.protocol.sssa import Document

Mode = Literal["full", "degraded_4", "degraded_3", "quality_only", "skip"]


class GroupPlan(Document, frozen=True):
    """Who gets one task (SPEC 8).

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
