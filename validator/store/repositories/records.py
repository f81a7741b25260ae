"""Records of ended rounds, and what is read from them."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, Final, TypeVar

import msgspec
from sqlalchemy import Select, and_, bindparam, select

from sssa.protocol import typed
from sssa.protocol.dispatch_record import RUN, Dispatch
from sssa.protocol.results import (
    Judgement,
    Packed,
    Passed,
    RawAnswer,
    Rejection,
    RoundResults,
    VoidDispatch,
    VoidTask,
)
from sssa.protocol.round import MemberOutcome, RoundOutcome, RoundPlan
from sssa.protocol.text import printable
from validator.store.codec import unpack
from validator.store.errors import DamagedError
from validator.store.record import Group, Head, Items, group_of, head_of
from validator.store.repositories.repository import ROUND, Recent, Repository
from validator.store.rows import ProofRecord, ScoreRecord
from validator.store.tables import dispatches, judged_documents, records, rounds, tasks

T = TypeVar("T")
TOGETHER: Final = 4  # frames read at a time
_KEPT_BYTES: Final = 2 * 1024 * 1024  # of the frames that a transaction remembers of the round that it read last
_FRAMES: Final[Select[Any]] = (
    select(records.c.frame)
    .where(records.c.round_id == ROUND, records.c.part >= bindparam("part"))
    .order_by(records.c.part)
    .limit(TOGETHER)
)


class Records(Repository):
    """Records by (round_id, part).

    Raises:
        DamagedError: on reading, where a record is missing or is not what was written.
    """

    async def put(self, round_id: int, frames: Sequence[bytes]) -> None:
        """Write a round's record, and read it back (DamagedError: the database gives back something else)."""
        rows = [{"round_id": round_id, "part": part, "frame": frame} for part, frame in enumerate(frames)]
        await self._insert(records, rows)
        stored = select(records.c.frame).where(records.c.round_id == round_id).order_by(records.c.part)
        if [bytes(row.frame) for row in await self._all(stored)] != [*frames]:
            raise DamagedError(f"the record of round {round_id} was not read back as it was written")

    async def head(self, round_id: int) -> Head | None:
        """Return the head of an ended round's record; None for an open or unknown round."""
        recent = self._session.recent
        if recent.round_id == round_id and recent.head is not None:
            return recent.head
        async for item in self._items(round_id):
            head = head_of(item)
            self._session.recent = self._session.recent._replace(head=head)
            return head
        return None

    async def outcome(self, round_id: int) -> RoundOutcome | None:
        """Return the outcome of a settled round; None for other rounds."""
        head = await self.head(round_id)
        if head is None or head.outcome is None:
            return None
        return _read(round_id, "outcome", RoundOutcome, head.outcome)

    async def plan(self, round_id: int) -> RoundPlan | None:
        """Return the plan of an ended round; None for an open or skipped one."""
        head = await self.head(round_id)
        if head is None or head.plan is None:
            return None
        return _read(round_id, "plan", RoundPlan, head.plan)

    async def groups(self, round_id: int) -> AsyncIterator[Group]:
        """Yield the documents of each group of an ended round, one group at a time."""
        is_head = True
        async for item in self._items(round_id):
            if not is_head:
                yield group_of(item)
            is_head = False

    async def frames(self, round_id: int) -> AsyncIterator[bytes]:
        """Yield the frames of an ended round as they are stored; none of an open one."""
        part, frames = 0, await self._some(round_id, 0)
        while frames:
            for frame in frames:
                yield frame
            part += len(frames)
            frames = await self._some(round_id, part) if len(frames) == TOGETHER else ()

    async def _items(self, round_id: int) -> AsyncIterator[bytes]:
        items = Items()
        async for frame in self.frames(round_id):
            for item in items.take(await unpack(frame)):
                yield item
        items.require_end()

    async def _some(self, round_id: int, part: int) -> tuple[bytes, ...]:
        """Return the next frames of a round from this one on, fewer than `TOGETHER` at its end."""
        recent = self._session.recent
        if part == 0 and recent.round_id == round_id and recent.frames:
            return recent.frames
        frames = tuple([bytes(row.frame) for row in await self._all(_FRAMES, {"round_id": round_id, "part": part})])
        if part == 0:
            if not frames:
                await self._require_open(round_id)
            kept = frames if sum(map(len, frames)) <= _KEPT_BYTES else ()
            self._session.recent = Recent(round_id, kept, recent.head if recent.round_id == round_id else None)
        return frames

    async def _require_open(self, round_id: int) -> None:
        """Refuse a round that has ended: it has a record."""
        state = await self._scalar(select(rounds.c.state).where(rounds.c.round_id == round_id))
        if state not in (None, "open"):
            raise DamagedError(f"round {round_id} has ended and has no record")


def _read(round_id: int, which: str, kind: type[T], data: bytes) -> T:
    try:
        return typed.decode(data, kind)
    except msgspec.MsgspecError:
        raise DamagedError(f"the {which} of round {round_id} cannot be read") from None


class Scores(Repository):
    """Member outcomes by round, and by miner (DamagedError: as `Records`)."""

    async def of_round(self, round_id: int) -> tuple[MemberOutcome, ...]:
        """Return a round's outcomes in plan order, primaries by rank, then auditors by draw."""
        outcome = await self._as(Records).outcome(round_id)
        return () if outcome is None else outcome.members

    async def of_miner(self, hotkey: str, limit: int) -> tuple[ScoreRecord, ...]:
        """Return a miner's newest `limit` outcomes, newest round first, a round's in the plan's order reversed."""
        d = dispatches.c
        its = select(d.round_id, d.task_id, d.skill_type).join(rounds, rounds.c.round_id == d.round_id)
        its = its.join(tasks, and_(tasks.c.round_id == d.round_id, tasks.c.task_id == d.task_id))
        its = its.where(d.hotkey == hotkey, d.state != "void", rounds.c.state == "settled")
        newest = its.order_by(d.round_id.desc(), tasks.c.position.desc()).limit(limit)
        types = {row.task_id: row for row in await self._all(newest)}
        scores: list[ScoreRecord] = []
        for round_id in dict.fromkeys(row.round_id for row in types.values()):
            scores += [
                ScoreRecord(round_id, types[member.task_id].skill_type, member)
                for member in reversed(await self.of_round(round_id))
                if member.hotkey == hotkey and member.task_id in types
            ]
        return tuple(scores)


class Proofs(Repository):
    """Proofs by task."""

    async def of_task(self, task_id: str) -> ProofRecord | None:
        """Return a task's proof; raises as `Records`."""
        round_id = await self._scalar(select(tasks.c.round_id).where(tasks.c.task_id == task_id))
        if round_id is None:
            return None
        async for group in self._as(Records).groups(round_id):
            if group.task_id == task_id and group.proof is not None:
                return ProofRecord(round_id, task_id, group.proof)
        return None


StoredJudgement = Packed | Rejection | DamagedError | None
"""The stored judgement of an answer."""

_OF_ROUND: Final = (
    select(*(dispatches.c[name].label(name) for name in Dispatch.__struct_fields__))
    .join(tasks, and_(tasks.c.round_id == dispatches.c.round_id, tasks.c.task_id == dispatches.c.task_id))
    .where(dispatches.c.round_id == ROUND)
    .order_by(tasks.c.position, dispatches.c.rank, dispatches.c.hotkey)
)
_TASKS: Final = (
    select(tasks.c.task_id, tasks.c.state, tasks.c.reason).where(tasks.c.round_id == ROUND).order_by(tasks.c.position)
)


class Submissions(Repository):
    """Submissions and rejections as judged (DamagedError: one cannot be read; the others as `Records`)."""

    async def results(self, round_id: int, only: Collection[str] | None = None) -> RoundResults:
        """Return the results of a round in the order of the plan; with `only`, of the tasks with these ids.

        Answers that are not judged yet are in neither list; void tasks and dispatches appear only as such.
        """
        planned = await self._all_of(round_id, _TASKS)
        void = tuple(VoidTask(row.task_id, row.reason) for row in planned if row.state == "void")
        raw: dict[str, list[RawAnswer | None]] = {row.task_id: [] for row in planned}
        judgements: list[Judgement] = []
        dispatched: list[Dispatch] = []
        async for dispatch, kept in self.each(round_id, only):
            dispatched.append(dispatch)
            raw[dispatch.task_id].append(dispatch.raw)
            if isinstance(kept, DamagedError):
                raise kept
            if kept is not None:
                judgements.append(unpacked(dispatch, kept) if isinstance(kept, Packed) else kept)
        return RoundResults.of(judgements, void, _alone(dispatched, void), tuple(map(tuple, raw.values())))

    async def each(
        self, round_id: int, only: Collection[str] | None = None
    ) -> AsyncIterator[tuple[Dispatch, StoredJudgement]]:
        """Yield each dispatch, in the order of the plan, with what was judged of its answer; a group at a time."""
        records = self._as(Records)
        head = await records.head(round_id)
        if head is None:
            for row in await self.open_dispatches(round_id):
                if only is None or row.task_id in only:
                    yield row, stored_judgement(row, await self._open_documents(row))
            return
        rows = {task_id: tuple(its) for task_id, its in groupby(head.dispatches, attrgetter("task_id"))}
        async for group in records.groups(round_id):
            if only is None or group.task_id in only:
                named = group.named()
                for fact in rows.get(group.task_id, ()):
                    yield fact, stored_judgement(fact, named)

    async def open_dispatches(self, round_id: int) -> tuple[Dispatch, ...]:
        """Return the dispatches of a round that has no record yet, in the order of the plan."""
        return await self._each(Dispatch, _OF_ROUND, {"round_id": round_id})

    async def _open_documents(self, row: Dispatch) -> Mapping[str, bytes]:
        """Return the documents that an answer of an open round names."""
        d = judged_documents.c
        mine = d.round_id == row.round_id, d.task_id == row.task_id, d.hotkey == row.hotkey
        blobs = await self._first(select(d.signed, d.run).where(*mine)) if row.submission is not None else None
        named = zip((row.signed_sha256, row.run_sha256), blobs or (), strict=False)
        return {sha256: await unpack(blob, sha256) for sha256, blob in named if sha256 is not None}


def stored_judgement(row: Dispatch, documents: Mapping[str, bytes]) -> StoredJudgement:
    """Return the judgement of an answer; `documents` has those that it names, by sha256.

    None for what was never judged, or is void; an error where a document is missing.
    """
    if row.state == "failed" and row.reason is not None:
        return Rejection(row.task_id, row.hotkey, row.role, row.reason, row.seconds)
    if row.state != "answered" or row.submission is None or row.signed_sha256 is None:
        return None
    fields, run = dict(row.submission), None
    try:
        if RUN in fields:
            run = documents[fields.pop(RUN)]
        return Packed(fields, documents[row.signed_sha256], run)
    except KeyError as error:
        return DamagedError(f"no document {error.args[0]} that an answer names")


def unpacked(row: Dispatch, answer: Packed) -> Passed:
    """Return the stored answer to a dispatch (DamagedError: it cannot be read)."""
    try:
        return answer.unpacked()
    except msgspec.MsgspecError as error:
        raise DamagedError(f"submission {row.round_id}/{row.task_id}/{row.hotkey}: {printable(str(error))}") from None


def _alone(ended: Sequence[Dispatch], void: Sequence[VoidTask]) -> tuple[VoidDispatch, ...]:
    tasks_too = {task.task_id for task in void}
    return tuple(
        VoidDispatch(one.task_id, one.hotkey, one.reason)
        for one in ended
        if one.state == "void" and one.reason is not None and one.task_id not in tasks_too
    )
