"""Executions as waiting work: one try to run a task's bundle in the sandbox (SPEC 15). The caller stores the result."""

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Final, NamedTuple

from msgspec import UNSET

from sssa.protocol.answer import probe_values
from sssa.protocol.dispatch_record import DispatchKey
from sssa.protocol.reasons import Reason
from sssa.protocol.round import AssessmentTask
from sssa.protocol.traces import TracesError
from sssa.protocol.waiting_work import Executed, Execution
from validator.sandbox.interface import Ended, Evidence, Sandbox, SandboxFailure, SandboxJob
from validator.store import Store, Transaction
from validator.telemetry.reports import Reports
from validator.waiting.comparison import Compared, ExecutedBundle, compare_task
from validator.waiting.engine_watch import note_engine
from validator.waiting.life_cycle import EXECUTION_KIND, Finished, Kind, Outcome, Postponed
from validator.workers.interface import TooCostlyError, Whose, Workers, WorkersError

_RUNS: Final = ("the bundle", "the bundle again", "nothing")


class _Needs(NamedTuple):
    """Data from the store for one attempt. `answers`: hotkey and body of the valid primaries, in group order."""

    job: SandboxJob
    task: ExecutedBundle
    answers: tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True)
class ExecutionWork:
    """Executions, run in the sandbox; the comparison of the runs with the miners' traces is their result."""

    kind: ClassVar[Kind[Execution]] = EXECUTION_KIND
    store: Store
    sandbox: Sandbox
    workers: Workers
    board: Reports

    async def attempt(self, taken: Execution) -> Outcome:
        """Run the bundle, the bundle again, and nothing; compare every valid primary."""
        async with self.store.read() as tx:
            needs = await _needs(tx, taken)
        if needs is None:
            return _inconclusive(Reason.EXECUTION_LOST)
        runs = await self._run(needs.job)
        if not isinstance(runs, list):
            return runs
        call = partial(compare_task, needs.task, [one.files for one in runs], needs.answers)
        try:
            compared = await self.workers.run(Whose(taken.hotkeys[0], taken.task_id), lambda: call)
        except (TracesError, TooCostlyError) as error:  # the answers' own traces were judged before
            return _inconclusive(Reason.EXECUTION_TRACES, error.detail)
        except WorkersError as error:
            return Postponed(Reason.BUG_INTERNAL, error.detail)
        return _finished(compared, round(sum(one.seconds for one in runs), 3))

    async def _run(self, job: SandboxJob) -> "list[Evidence] | Outcome":
        """Return what the three runs left, or why there are not three that ended by themselves."""
        runs: list[Evidence] = []
        for what, bundle in zip(_RUNS, (job.bundle, job.bundle, None), strict=True):
            one = await self.sandbox.run(replace(job, bundle=bundle))
            note_engine(self.board, one)
            if isinstance(one, SandboxFailure):
                detail = f"{what}: {one.detail}"
                own = one.reason is Reason.SANDBOX_EVIDENCE
                return _inconclusive(Reason.EXECUTION_TRACES, detail) if own else Postponed(one.reason, detail)
            if one.ended is not Ended.BY_ITSELF or one.exit_code:
                return _inconclusive(Reason.EXECUTION_ENDED, f"{what}: ended {one.ended}, code {one.exit_code}")
            runs.append(one)
        return runs


def _finished(compared: Compared, seconds: float) -> Finished:
    if compared.inconclusive is not None:
        return Finished("inconclusive", compared.inconclusive, "", Executed(compared.report), seconds)
    detail = "; ".join(
        f"{one.hotkey} {one.event or 'no event'}{_faults(one.report.faults)}" for one in compared.results
    )
    result = Executed(compared.report, compared.results)
    return Finished("done", Reason.EXECUTION_COMPARED, detail, result, seconds)


def _inconclusive(reason: Reason, detail: str = "") -> Finished:
    return Finished("inconclusive", reason, detail)


def _faults(faults: tuple[str, ...]) -> str:
    return f" ({', '.join(faults)})" if faults else ""


async def _needs(tx: Transaction, taken: Execution) -> _Needs | None:
    """Return what the try needs, None where some of it is gone."""
    stored = await tx.rounds.get(taken.round_id)
    frozen = None if stored is None else stored.input
    task = next((one for one in frozen.tasks if one.task_id == taken.task_id), None) if frozen else None
    if frozen is None or not isinstance(task, AssessmentTask):
        return None
    bundle = await tx.bundles.get(task.bundle_sha256)
    answers = []
    for hotkey in taken.hotkeys:
        body = await tx.dispatches.answer_body(DispatchKey(taken.round_id, taken.task_id, hotkey))
        if body is None:
            return None
        answers.append((hotkey, body))
    if bundle is None:
        return None
    job = SandboxJob(
        image=frozen.runtime_image,
        skill_type=task.skill_type,
        bundle=bundle,
        nonce=task.nonce,
        probes=probe_values(task.nonce),
    )
    mark = task.truth.mark if task.truth is not None and task.truth.mark is not UNSET else None
    executed = ExecutedBundle(frozen.scoring_version, task.skill_type, task.nonce, mark, task.made_here)
    return _Needs(job, executed, tuple(answers))
