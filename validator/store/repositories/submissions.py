"""What came back in a round, as the second argument of score_round: read for crash recovery, explain and replay."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, Final

import msgspec
from sqlalchemy import and_, select

from validator.protocol.round import (
    Judgement,
    Packed,
    Passed,
    RawAnswer,
    RawAnswers,
    Rejection,
    RoundResults,
    VoidDispatch,
    VoidTask,
)
from validator.protocol.text import printable
from validator.store.dispatch import Dispatch, DispatchKey, dispatch_of
from validator.store.errors import DamagedError, MismatchError
from validator.store.record import RUN
from validator.store.repositories.base import ROUND, Repository
from validator.store.repositories.records import Records
from validator.store.tables import dispatches, sssas, tasks, workflow_runs

Kept = Packed | Rejection | DamagedError | None
"""What is stored of the judgement of an answer."""

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
        async for dispatch, kept in self.each(round_id, only):
            dispatched.append(dispatch)
            if isinstance(kept, DamagedError):
                raise kept
            if kept is not None:
                judgements.append(unpacked(dispatch.key, kept) if isinstance(kept, Packed) else kept)
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

    async def each(self, round_id: int, only: Collection[str] | None = None) -> AsyncIterator[tuple[Dispatch, Kept]]:
        """Yield each dispatch, in the order of the plan, with what was judged of its answer; a group at a time.

        Raises:
            DamagedError, ArchivedError, ArchiveError: as `Records`.
        """
        records = Records(self._connection, self._packing)
        head = await records.head(round_id)
        if head is None:
            for row in await self._all_of(round_id, _OF_ROUND):
                if only is None or row.task_id in only:
                    yield dispatch_of(row), kept_answer(row, await self._open_documents(row))
            return
        rows = {task_id: tuple(its) for task_id, its in groupby(head.dispatches, attrgetter("task_id"))}
        async for group in records.groups(round_id):
            if only is None or group.task_id in only:
                named = group.named()
                for fact in rows.get(group.task_id, ()):
                    yield dispatch_of(fact), kept_answer(fact, named)

    async def _open_documents(self, row: Any) -> Mapping[str, bytes]:
        """Return what an answer of an open round names."""
        found: dict[str, bytes] = {}
        names = () if row.submission is None else (row.signed_sha256, row.submission.get(RUN))
        for table, sha256 in zip((sssas, workflow_runs), names, strict=False):
            blob = await self._scalar(select(table.c.document).where(table.c.sha256 == sha256))
            if blob is not None:
                found[sha256] = await self._packing.unpack(blob, sha256)
        return found

    async def columns(self, submissions: Sequence[Packed]) -> list[dict[str, Any]]:
        """Keep what submissions hold by hash; return of each the columns that name it, the rest as JSON.

        Raises:
            MismatchError: `sssa_sha256` or `plan_sha256` is not that of the document's canonical bytes.
        """
        signed = await self._packing.documents([one.signed for one in submissions])
        if any(actual != one.sha256 for (actual, _), one in zip(signed, submissions, strict=True)):
            raise MismatchError("`sssa_sha256` or `plan_sha256` is not that of the document's canonical bytes")
        await self._insert_missing(sssas, [{"sha256": sha256, "document": blob} for sha256, blob in signed])
        return [await self._columns(one, len(blob)) for one, (_, blob) in zip(submissions, signed, strict=True)]

    async def _columns(self, submission: Packed, kept: int) -> dict[str, Any]:
        fields = dict(submission.fields)
        if submission.run is not None:
            ((fields[RUN], blob),) = await self._packing.documents([submission.run])
            await self._insert_missing(workflow_runs, [{"sha256": fields[RUN], "document": blob}])
            kept += len(blob)
        return {"signed_sha256": submission.sha256, "submission": fields, "kept_bytes": kept}


def kept_answer(row: Any, documents: Mapping[str, bytes]) -> Kept:
    """Return what was judged of the answer to a dispatch: its row or its `DispatchFacts`, and what it names by sha256.

    None for what was never judged, or is void; an error where a document is missing.
    """
    if row.state == "failed":
        return Rejection(row.task_id, row.hotkey, row.role, row.reason, row.seconds)
    if row.state != "answered" or row.submission is None:
        return None
    fields, run = dict(row.submission), None
    try:
        if RUN in fields:
            run = documents[fields.pop(RUN)]
        return Packed(fields, documents[row.signed_sha256], run)
    except KeyError as error:
        return DamagedError(f"no document {error.args[0]} that an answer names")


def unpacked(key: DispatchKey, answer: Packed) -> Passed:
    """Return the stored answer to a dispatch (DamagedError: it cannot be read)."""
    try:
        return answer.unpacked()
    except msgspec.MsgspecError as error:
        raise DamagedError(f"submission {key.round_id}/{key.task_id}/{key.hotkey}: {printable(str(error))}") from None


def _alone(found: Sequence[Dispatch], void: Sequence[VoidTask]) -> tuple[VoidDispatch, ...]:
    tasks_too = {task.task_id for task in void}
    return tuple(
        VoidDispatch(one.key.task_id, one.key.hotkey, one.reason)
        for one in found
        if one.state == "void" and one.reason is not None and one.key.task_id not in tasks_too
    )
