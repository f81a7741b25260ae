"""What came back in a round, as the second argument of score_round: read for crash recovery, explain and replay."""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

import msgspec
from sqlalchemy import and_, select

from validator.protocol import typed
from validator.protocol.round import (
    Judgement,
    Passed,
    RawAnswer,
    RawAnswers,
    Rejection,
    RoundResults,
    Submission,
    VoidDispatch,
    VoidTask,
    WorkflowSubmission,
)
from validator.protocol.sssa import Sssa
from validator.protocol.workflow_plan import WorkflowPlan
from validator.protocol.workflow_run import RunRecord
from validator.store.dispatch import Dispatch, dispatch_of
from validator.store.errors import DamagedError, MismatchError
from validator.store.record import RUN
from validator.store.repositories.base import ROUND, Repository
from validator.store.repositories.records import Records
from validator.store.tables import dispatches, sssas, tasks, workflow_runs

_Document = Callable[[str], Awaitable[bytes | None]]
"""Returns the document that an answer names by its sha256."""

_OF_ROUND: Final = (
    select(dispatches)
    .join(tasks, and_(tasks.c.round_id == dispatches.c.round_id, tasks.c.task_id == dispatches.c.task_id))
    .where(dispatches.c.round_id == ROUND)
    .order_by(tasks.c.position, dispatches.c.rank)
)
_TASKS: Final = select(tasks.c.task_id).where(tasks.c.round_id == ROUND).order_by(tasks.c.position)


class Submissions(Repository):
    """Submissions and rejections as judged."""

    async def results(self, round_id: int, only: Collection[str] | None = None) -> RoundResults:
        """Return what came back, in the order of the plan; with `only`, of the tasks with these ids, without `raw`.

        Answers that are not judged yet are in neither list; void tasks and dispatches appear only as such.

        Raises:
            DamagedError: a stored submission or attestation cannot be read.
            ArchivedError, ArchiveError: as `Records`.
        """
        void = select(tasks.c.task_id, tasks.c.reason).where(tasks.c.round_id == round_id, tasks.c.state == "void")
        judgements: list[Judgement] = []
        dispatched: list[Dispatch] = []
        async for dispatch, judgement in self.each(round_id, only):
            dispatched.append(dispatch)
            if isinstance(judgement, DamagedError):
                raise judgement
            judgements += [] if judgement is None else [judgement]
        void_tasks = tuple(
            VoidTask(row.task_id, row.reason) for row in await self._all(void.order_by(tasks.c.position))
        )
        whole = RoundResults.of(judgements, void_tasks, _alone(dispatched, void_tasks))
        return whole if only is not None else msgspec.structs.replace(whole, raw=await self.raw(round_id))

    async def raw(self, round_id: int) -> RawAnswers:
        """Return what is known of the raw bytes of a round's answers (SPEC 16, D-28) in plan order, a list per task."""
        head = await Records(self._connection, self._packing).head(round_id)
        rows = await self._all_of(round_id, _OF_ROUND) if head is None else head.dispatches
        found: dict[str, list[RawAnswer | None]] = {row.task_id: [] for row in await self._all_of(round_id, _TASKS)}
        for row in rows:
            found[row.task_id].append(row.raw)
        return tuple(map(tuple, found.values()))

    async def judgements(self, round_id: int) -> tuple[tuple[Dispatch, Judgement | DamagedError | None], ...]:
        """Return what `results` does one by one, damage included; None for what was never judged, or is void."""
        return tuple([each async for each in self.each(round_id)])

    async def each(
        self, round_id: int, only: Collection[str] | None = None
    ) -> AsyncIterator[tuple[Dispatch, Judgement | DamagedError | None]]:
        """Yield `judgements` one at a time; a group's documents are in memory together."""
        records = Records(self._connection, self._packing)
        head = await records.head(round_id)
        if head is None:
            for row in await self._all_of(round_id, _OF_ROUND):
                if only is None or row.task_id in only:
                    yield dispatch_of(row), await self._judgement(row, self._open_documents)
            return
        rows = {task_id: tuple(its) for task_id, its in groupby(head.dispatches, attrgetter("task_id"))}
        async for group in records.groups(round_id):
            if only is None or group.task_id in only:
                named = group.named()

                async def document(sha256: str, named: Mapping[str, bytes] = named) -> bytes | None:
                    return named.get(sha256)

                for fact in rows.get(group.task_id, ()):
                    yield dispatch_of(fact), await self._judgement(fact, document)

    async def _open_documents(self, sha256: str) -> bytes | None:
        """Return what answers of open rounds name."""
        for table in (sssas, workflow_runs):
            blob = await self._scalar(select(table.c.document).where(table.c.sha256 == sha256))
            if blob is not None:
                return await self._packing.unpack(blob, sha256)
        return None

    async def _judgement(self, row: Any, document: _Document) -> Judgement | DamagedError | None:
        if row.state == "failed":
            return Rejection(row.task_id, row.hotkey, row.role, row.reason, row.seconds)
        if row.state != "answered" or row.submission is None:
            return None
        rest, signed = dict(row.submission), row.signed_sha256
        try:
            if RUN not in rest:
                return typed.convert({**rest, "sssa": await _read(signed, document, Sssa)}, Submission)
            run = await _read(rest.pop(RUN), document, RunRecord)
            plan = await _read(signed, document, WorkflowPlan)
            return typed.convert({**rest, "plan": plan, "run": run}, WorkflowSubmission)
        except DamagedError as error:
            return error
        except msgspec.ValidationError as error:
            return DamagedError(f"submission {row.round_id}/{row.task_id}/{row.hotkey}: {error}")

    async def columns(self, submissions: Sequence[Passed]) -> list[dict[str, Any]]:
        """Keep what submissions hold by hash; return of each the columns that name it, the rest as JSON.

        Raises:
            MismatchError: `sssa_sha256` or `plan_sha256` is not that of the document's canonical bytes.
        """
        signed = await self._packing.documents([one.signed for one in submissions])
        if any(actual != one.sha256 for (actual, _), one in zip(signed, submissions, strict=True)):
            raise MismatchError("`sssa_sha256` or `plan_sha256` is not that of the document's canonical bytes")
        await self._insert_missing(sssas, [{"sha256": sha256, "document": packed} for sha256, packed in signed])
        return [await self._columns(one, len(packed)) for one, (_, packed) in zip(submissions, signed, strict=True)]

    async def _columns(self, submission: Passed, kept: int) -> dict[str, Any]:
        rest = {name: getattr(submission, name) for name in submission.__struct_fields__}
        if isinstance(submission, Submission):
            del rest["sssa"]
        else:
            del rest["plan"]
            ((rest[RUN], packed),) = await self._packing.documents([rest.pop("run")])
            await self._insert_missing(workflow_runs, [{"sha256": rest[RUN], "document": packed}])
            kept += len(packed)
        return {"signed_sha256": submission.sha256, "submission": msgspec.to_builtins(rest), "kept_bytes": kept}


def _alone(found: Sequence[Dispatch], void: Sequence[VoidTask]) -> tuple[VoidDispatch, ...]:
    tasks_too = {task.task_id for task in void}
    return tuple(
        VoidDispatch(one.key.task_id, one.key.hotkey, one.reason)
        for one in found
        if one.state == "void" and one.reason is not None and one.key.task_id not in tasks_too
    )


async def _read(sha256: str, document: _Document, kind: Any) -> Any:
    """Return a document that an answer names as a `kind` (DamagedError: it is missing, or none)."""
    data = await document(sha256)
    if data is None:
        raise DamagedError(f"no document {sha256} that an answer names")
    try:
        return typed.decode(data, kind)
    except msgspec.MsgspecError:
        raise DamagedError(f"the document {sha256} that an answer names has another version's form") from None
