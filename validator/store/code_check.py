"""The judging of one plan's code: one value from the store to the page (SPEC 12)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from validator.protocol.code_report import CodeReport
from validator.protocol.reasons import Reason
from validator.protocol.round import RoundInput, RoundOutcome, RoundPlan
from validator.protocol.work_states import WorkState
from validator.scoring import Version
from validator.store.dispatch import DispatchKey


class QueuedCheck(NamedTuple):
    """A run whose code waits to be judged. `check_id`: see `DeferredRun`; `key`: whose."""

    check_id: str
    key: DispatchKey


@dataclass(frozen=True, slots=True)
class CodeCheck:
    """A check as it stands.

    Attributes:
        check_id, key: see `QueuedCheck`.
        state: `pending`, `running`, `done` with a report, or `inconclusive` without one.
        attempts: tries that were begun, a running one included.
        due_at: not tried before.
        started_at: of the last try; None before the first.
        reason: of the end; while it is pending, of the last try.
        report: what tests and linter found.
        score: S with the report's quality, by the scoring version of the answer's round.
        entered_in: the round whose window entries have the score; None until one has.
    """

    check_id: str
    key: DispatchKey
    state: WorkState
    attempts: int
    queued_at: datetime
    due_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    reason: Reason | None
    detail: str | None
    report: CodeReport | None
    score: float | None
    entered_in: int | None

    @property
    def work_id(self) -> str:
        """Its id as one of all kinds of work."""
        return self.check_id

    @property
    def queued(self) -> QueuedCheck:
        """As the round that settled its answer queued it."""
        return QueuedCheck(self.check_id, self.key)


def queued_checks(
    version: Version, frozen: RoundInput, plan: RoundPlan, outcome: RoundOutcome
) -> Sequence[QueuedCheck]:
    """Return what a settled round leaves to be judged, for settling and for replay alike; `version` is its own."""
    return [
        QueuedCheck(one.check_id, DispatchKey(frozen.index, one.task_id, one.hotkey))
        for one in version.deferred_runs(frozen, plan, outcome)
    ]
