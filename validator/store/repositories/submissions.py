"""What came back in a round, as the second argument of score_round: read for crash recovery, explain and replay."""

from collections.abc import Collection, Sequence
from typing import Any, Final, TypeVar

import msgspec
from sqlalchemy import Row, and_, select

from validator.protocol import typed
from validator.protocol.round import (
    Judgement,
    Passed,
    Rejection,
    RoundResults,
    Submission,
    VoidDispatch,
    VoidTask,
    WorkflowSubmission,
)
from validator.protocol.sssa import Sssa
from validator.protocol.workflow_plan import WorkflowPlan
from validator.store.dispatch import Dispatch, dispatch_of
from validator.store.errors import DamagedError
from validator.store.repositories.base import ROUND, Repository
from validator.store.repositories.raw_answers import RawDigests
from validator.store.repositories.runs import WorkflowRuns
from validator.store.repositories.sssas import Signed, Sssas
from validator.store.tables import dispatches, sssas, tasks

T = TypeVar("T", Submission, WorkflowSubmission)
_RUN: Final = "run_sha256"
"""The key that the stored answer to a workflow task has, and no other: it names the run."""

_OF_ROUND: Final = (
    select(dispatches, sssas.c.document.label("signed_document"))
    .join(tasks, and_(tasks.c.round_id == dispatches.c.round_id, tasks.c.task_id == dispatches.c.task_id))
    .outerjoin(sssas, sssas.c.sha256 == dispatches.c.signed_sha256)
    .where(dispatches.c.round_id == ROUND)
    .order_by(tasks.c.position, dispatches.c.rank)
)


class Submissions(Repository):
    """Submissions and rejections as judged."""

    async def results(self, round_id: int, only: Collection[str] | None = None) -> RoundResults:
        """Return what came back, in the order of the plan; with `only`, of the tasks with these ids, without `raw`.

        Answers that are not judged yet are in neither list; void tasks and dispatches appear only as such.

        Raises:
            DamagedError: a stored submission or attestation cannot be read.
        """
        statement = _OF_ROUND if only is None else _OF_ROUND.where(dispatches.c.task_id.in_(only))
        found = await self._rows_of(round_id, statement)
        void = select(tasks.c.task_id, tasks.c.reason).where(tasks.c.round_id == round_id, tasks.c.state == "void")
        judgements = [
            _rejection(row) if row.state == "failed" else await self._passed(row) for row in found if _ended(row)
        ]
        void_tasks = tuple(
            VoidTask(row.task_id, row.reason) for row in await self._all(void.order_by(tasks.c.position))
        )
        whole = RoundResults.of(judgements, void_tasks, _alone(found, void_tasks))
        if only is not None:
            return whole
        raw = await RawDigests(self._connection, self._packing).of_round(round_id)
        return msgspec.structs.replace(whole, raw=raw)

    async def judgements(self, round_id: int) -> tuple[tuple[Dispatch, Judgement | DamagedError | None], ...]:
        """Return what `results` does one by one, damage included; None for what was never judged, or is void."""
        found = await self._rows_of(round_id, _OF_ROUND)
        return tuple([(dispatch_of(row), await self._judgement(row)) for row in found])

    async def _judgement(self, row: Row[Any]) -> Judgement | DamagedError | None:
        if not _ended(row):
            return None
        if row.state == "failed":
            return _rejection(row)
        try:
            return await self._passed(row)
        except DamagedError as error:
            return error

    async def _passed(self, row: Row[Any]) -> Passed:
        return await (self._ran(row) if _RUN in row.submission else self._submission(row))

    async def _submission(self, row: Row[Any]) -> Submission:
        sssa = await self._signed.read(row.signed_sha256, row.signed_document, Sssa)
        return _converted(row, {**row.submission, "sssa": sssa}, Submission)

    async def _ran(self, row: Row[Any]) -> WorkflowSubmission:
        plan = await self._signed.read(row.signed_sha256, row.signed_document, WorkflowPlan)
        rest = dict(row.submission)
        run = await WorkflowRuns(await self._of(row.round_id), self._packing).load(rest.pop(_RUN))
        return _converted(row, {**rest, "plan": plan, "run": run}, WorkflowSubmission)

    @property
    def _signed(self) -> Sssas:
        return Sssas(self._connection, self._packing)

    async def columns(self, submissions: Sequence[Passed]) -> list[dict[str, Any]]:
        """Keep what submissions hold by hash; return of each the columns that name it, the rest as JSON."""
        sizes = await self._signed.put([_signed_of(submission) for submission in submissions])
        return [await self._columns(one, size) for one, size in zip(submissions, sizes, strict=True)]

    async def _columns(self, submission: Passed, kept: int) -> dict[str, Any]:
        rest = {name: getattr(submission, name) for name in submission.__struct_fields__}
        if isinstance(submission, Submission):
            del rest["sssa"]
        else:
            del rest["plan"]
            rest[_RUN], size = await WorkflowRuns(self._connection, self._packing).put(rest.pop("run"))
            kept += size
        return {"signed_sha256": submission.sha256, "submission": msgspec.to_builtins(rest), "kept_bytes": kept}


def _signed_of(submission: Passed) -> Signed:
    if isinstance(submission, Submission):
        return submission.sssa, submission.sssa_sha256
    return submission.plan, submission.plan_sha256


def _converted(row: Row[Any], fields: dict[str, Any], kind: type[T]) -> T:
    try:
        return typed.convert(fields, kind)
    except msgspec.ValidationError as error:
        raise DamagedError(f"submission {round_key(row)}: {error}") from None


def round_key(row: Row[Any]) -> str:
    """Return a dispatch's key for messages."""
    return f"{row.round_id}/{row.task_id}/{row.hotkey}"


def _alone(found: Sequence[Row[Any]], void: Sequence[VoidTask]) -> tuple[VoidDispatch, ...]:
    tasks_too = {task.task_id for task in void}
    return tuple(
        VoidDispatch(row.task_id, row.hotkey, row.reason)
        for row in found
        if row.state == "void" and row.task_id not in tasks_too
    )


def _rejection(row: Row[Any]) -> Rejection:
    return Rejection(row.task_id, row.hotkey, row.role, row.reason, row.seconds)


def _ended(row: Row[Any]) -> bool:
    return row.state == "failed" or (row.state == "answered" and row.submission is not None)
