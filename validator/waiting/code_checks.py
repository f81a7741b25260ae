"""Code checks as waiting work: one try to judge plan code in the sandbox (SPEC 12). The caller stores its result."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from sssa.protocol.reasons import Reason
from sssa.protocol.results import WorkflowSubmission
from sssa.protocol.round import GoalTask
from sssa.protocol.waiting_work import CodeCheck, Judged
from sssa.protocol.workflow_run import CodeReport, WorkflowRun
from sssa.scoring import Version, code_of, fill_run, measure, result_of, version
from sssa.sources import Clock
from validator.sandbox.interface import CodeJob, CodeSandbox, SandboxFailure
from validator.store import Store, Transaction
from validator.store.errors import DamagedError
from validator.telemetry.reports import Reports
from validator.waiting.engine_watch import note_code
from validator.waiting.life_cycle import CODE_KIND, Finished, Kind, Outcome, Postponed


class _Needs(NamedTuple):
    """Data from the store for one attempt: the job, and the measurements of the run, by its round's version."""

    job: CodeJob
    measured: WorkflowRun
    version: Version


@dataclass(frozen=True, slots=True)
class CodeWork:
    """Code of plans, run with its task's tests in the sandbox; its worth enters the next round.

    Whatever the code does is a result. A failure of the engine is tried again for as long as it takes.
    """

    kind: ClassVar[Kind[CodeCheck]] = CODE_KIND
    store: Store
    sandbox: CodeSandbox
    clock: Clock
    board: Reports

    async def attempt(self, taken: CodeCheck) -> Outcome:
        """Run the task's tests against the plan's code once."""
        async with self.store.read() as tx:
            needs = await _needs(tx, taken)
        if needs is None:
            return Finished("inconclusive", Reason.CODE_LOST)
        began = self.clock.monotonic()
        report = await self.sandbox.check(needs.job)
        note_code(self.board, report if isinstance(report, SandboxFailure) else None)
        if isinstance(report, SandboxFailure):
            if report.ours:
                return Postponed(report.reason, report.detail)
            return Finished("inconclusive", report.reason, report.detail)
        return _finished(needs, report, round(self.clock.monotonic() - began, 3))


def _finished(needs: _Needs, report: CodeReport, seconds: float) -> Finished:
    score = fill_run(needs.version, needs.measured, report).score.score
    detail = f"{report.passed} of {report.total} tests passed, {report.findings} findings of the linter"
    return Finished("done", Reason.QUALITY_JUDGED, detail, Judged(report, score), seconds)


async def _needs(tx: Transaction, check: CodeCheck) -> _Needs | None:
    """Return what the try needs, None where some of it is gone or cannot be read."""
    stored = await tx.rounds.get(check.round_id)
    if stored is None or stored.input is None:
        return None
    try:
        results = await tx.submissions.results(check.round_id, [check.task_id])
    except DamagedError:
        return None
    task = next((one for one in stored.input.tasks if one.task_id == check.task_id), None)
    answers = results.answers(check.task_id, WorkflowSubmission)
    answer = next((one for one in answers if one.hotkey == check.hotkey), None)
    if not isinstance(task, GoalTask) or answer is None:
        return None
    scored_by = version(stored.input.scoring_version)
    output = result_of(answer.plan, answer.run)
    if output is None:
        return None
    return _Needs(
        CodeJob(stored.input.runtime_image, code_of(output), task.goal.reference.given("tests")),
        measure(task.goal, answer.plan, answer.run, 0.0),
        scored_by,
    )
