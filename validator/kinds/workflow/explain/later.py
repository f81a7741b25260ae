"""What came of a plan's code after its round, as it stands now (SPEC 12)."""

from datetime import datetime

from validator.kinds.workflow.explain.worth import Measure, Worth, explain_measured, explain_worth
from validator.protocol.execution import WorkState
from validator.protocol.reasons import Reason, meaning_of
from validator.protocol.results import WorkflowSubmission
from validator.protocol.sssa import Document
from validator.protocol.workflow_run import CodeReport
from validator.protocol.workflow_task import WorkflowTask
from validator.scoring import Version
from validator.store.waiting_work import CodeCheck


class JudgedLater(Document, frozen=True):
    """A check of a plan's code.

    Attributes:
        state: pending, running, done or inconclusive.
        attempts: tries that were begun.
        due_at: not tried before.
        reason, meaning: of the end, or of the last try; None before the first.
        report: what the tests and the linter found; this and the next three are None until it is done.
        quality: of the output, from the report.
        measured, worth: of the run with that quality.
        entry: what enters the score window, or entered it.
        entered_in: the round with which it did; None until one has.
    """

    check_id: str
    state: WorkState
    attempts: int
    due_at: datetime
    reason: Reason | None
    meaning: str | None
    detail: str | None
    report: CodeReport | None
    quality: float | None
    measured: tuple[Measure, ...] | None
    worth: Worth | None
    entry: float | None
    entered_in: int | None


def explain_later(
    version: Version, task: WorkflowTask, submission: WorkflowSubmission, check: CodeCheck
) -> JudgedLater:
    """Return the check, its score with the parts that make it; `version` is that of the answer's round."""
    found = None
    if check.report is not None:
        measured = version.measure(task, submission.plan, submission.run, 0.0)
        found = version.fill_run(measured, check.report)
    return JudgedLater(
        check_id=check.work_id,
        state=check.state,
        attempts=check.attempts,
        due_at=check.due_at,
        reason=check.reason,
        meaning=meaning_of(check.reason),
        detail=check.detail,
        report=check.report,
        quality=found.measured.output_quality if found else None,
        measured=explain_measured(found.measured) if found else None,
        worth=explain_worth(version, found) if found else None,
        entry=check.score,
        entered_in=check.entered_in,
    )
