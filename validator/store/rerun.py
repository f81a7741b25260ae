"""A rerun: one value from the store to the page."""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from validator.protocol.reasons import Reason
from validator.protocol.rerun import RerunEvent, RerunReport
from validator.protocol.round import RoundInput, RoundOutcome, RoundPlan
from validator.protocol.runtime_image import RuntimeImage
from validator.protocol.skill_types import SkillType
from validator.protocol.work_states import WorkState
from validator.scoring import Version
from validator.store.dispatch import DispatchKey


class QueuedRerun(NamedTuple):
    """An answer that a round wants to have run again.

    Attributes:
        rerun_id: see `ChosenRerun`.
        key: whose answer.
        skill_type: of the task.
        why: the reason.
        image: of the round.
    """

    rerun_id: str
    key: DispatchKey
    skill_type: SkillType
    why: Reason
    image: RuntimeImage


@dataclass(frozen=True, slots=True)
class Rerun:
    """A rerun as it stands.

    Attributes:
        rerun_id, key, skill_type, why, image: see `QueuedRerun`.
        state: `pending`, `running`, `done` with an event, or `inconclusive` without one.
        attempts: tries that were begun, a running one included.
        due_at: not tried before.
        started_at: of the last try; None before the first.
        reason: of the end; while it is pending, of the last try.
        event: what it does to the reputation.
        report: both runs side by side; None where nothing was compared.
        entered_in: the round that counted the event; None until one has.
        struck: what the window entry was worth before the event took it (D-30); None where it took none.
    """

    rerun_id: str
    key: DispatchKey
    skill_type: SkillType
    why: Reason
    image: RuntimeImage
    state: WorkState
    attempts: int
    queued_at: datetime
    due_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    reason: Reason | None
    detail: str | None
    event: RerunEvent | None
    report: RerunReport | None
    entered_in: int | None
    struck: float | None

    @property
    def work_id(self) -> str:
        """Its id as one of all kinds of work."""
        return self.rerun_id

    @property
    def queued(self) -> QueuedRerun:
        """As the round that settled its answer queued it."""
        return QueuedRerun(self.rerun_id, self.key, self.skill_type, self.why, self.image)


def queued_reruns(
    version: Version, frozen: RoundInput, plan: RoundPlan, outcome: RoundOutcome
) -> tuple[QueuedRerun, ...]:
    """Return what a settled round wants to have run again, for settling and for replay alike; `version` is its own."""
    return tuple(
        QueuedRerun(
            one.rerun_id,
            DispatchKey(frozen.index, one.task_id, one.hotkey),
            one.skill_type,
            one.reason,
            frozen.runtime_image,
        )
        for one in version.chosen_reruns(frozen, plan, outcome)
    )
