"""Rounds from opening to settling: opened once, settled once; and when the validator stood still in one."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple, TypeVar

import msgspec
from msgspec import structs
from sqlalchemy import Row, select, text, update

from sssa.protocol import typed
from sssa.protocol.canonical import canonical_bytes, sha256_hex
from sssa.protocol.dispatch_record import planned_dispatches
from sssa.protocol.reasons import Reason
from sssa.protocol.round import RoundInput, RoundOutcome, RoundPlan
from sssa.protocol.sssa import Document
from validator.store.codec import canonical, pack, unpack
from validator.store.errors import (
    AlreadyOpenedError,
    DamagedError,
    MismatchError,
)
from validator.store.record import SKIPPED, OpenRound, Record, RoundEnding, frames, recorded
from validator.store.repositories.dispatches import Dispatches
from validator.store.repositories.miners import Miners
from validator.store.repositories.records import Records, Submissions
from validator.store.repositories.repository import ROUND, Repository
from validator.store.repositories.tasks import Tasks
from validator.store.repositories.windows import Windows
from validator.store.rows import EndState, RoundRecord, RoundSummary, StoredRound, WindowEntry, planned_tasks
from validator.store.tables import judged_documents, rounds, stalls


class StallRecord(Document, frozen=True):
    """A time in which the validator stood still (D-26)."""

    started_at: datetime
    seconds: float


class Stalls(Repository):
    """Stalls by round, in the order in which they happened."""

    async def put(self, round_id: int, known: Sequence[StallRecord]) -> None:
        """Keep what is known of a round's stalls so far; the last of those that exist may have grown."""
        rows = [{"round_id": round_id, "number": number, **structs.asdict(stall)} for number, stall in enumerate(known)]
        await self._upsert(stalls, rows)

    async def of_round(self, round_id: int) -> tuple[StallRecord, ...]:
        """Return a round's stalls."""
        statement = select(stalls.c.started_at, stalls.c.seconds).where(stalls.c.round_id == round_id)
        return await self._each(StallRecord, statement.order_by(stalls.c.number))


T = TypeVar("T")
_UNLISTED: Final = ("input", "plan", "netuid", "scoring_version")
_FACTS: Final = tuple(column for column in rounds.c if column.name not in _UNLISTED)
_RECORD: Final = select(*_FACTS).where(rounds.c.round_id == ROUND)
_FROZEN: Final = select(
    *(rounds.c[name] for name in ("epoch", "block", "block_hash", "netuid", "scoring_version")),
    rounds.c.task_count,
    rounds.c.dispatch_count,
).where(rounds.c.round_id == ROUND)
_INPUT: Final = select(rounds.c.input, rounds.c.plan).where(rounds.c.round_id == ROUND)


_DOCUMENTS: Final = select(judged_documents).where(judged_documents.c.round_id == ROUND)
_OPEN_ROUND: Final = select(*_FACTS, rounds.c.input)
_MOVE_TO_END: Final = text(
    "UPDATE dispatches SET rowid = rowid + 1 + (SELECT max(rowid) FROM dispatches)"
    " - (SELECT min(rowid) FROM dispatches WHERE round_id = :id) WHERE round_id = :id"
)


class NewestFrozen(NamedTuple):
    """A round that was frozen, and the version that scores it."""

    round_id: int
    netuid: int
    epoch: int
    block: int
    scoring_version: str


class Rounds(Repository):
    """The rounds with their frozen inputs and outcomes."""

    async def next_id(self) -> int:
        """Return the id of the next round: 0, 1, 2, … without gaps."""
        return await self._next(rounds, "round_id")

    async def open(self, round_input: RoundInput, plan: RoundPlan, started_at: datetime) -> None:
        """Store a round before its first dispatch: input, tasks, groups and dispatches (`planned`).

        The snapshot's neurons are noted as seen (AlreadyOpenedError: the id is taken; MismatchError).
        """
        round_id = _decimal(round_input.round_id)
        if plan.round_id != round_input.round_id:
            raise MismatchError(f"a plan of round {plan.round_id} for round {round_id}")
        if [group.task_id for group in plan.groups] != [task.task_id for task in round_input.tasks]:
            raise MismatchError(f"round {round_id}: the plan's groups are not the input's tasks, in their order")
        data, sha256 = await canonical(round_input)
        stored = {"started_at": started_at, "input": await pack(data), "input_sha256": sha256}
        stored["plan"] = canonical_bytes(plan)
        await self._create(round_id, {**frozen_columns(round_input, plan), **stored})
        await self._as(Miners).seen(round_input.snapshot)
        await self._as(Tasks).plan(planned_tasks(round_input, plan))
        await self._as(Dispatches).plan(planned_dispatches(round_input, plan))

    async def skip(  # noqa: PLR0913 - a round without documents is its facts
        self, round_id: int, *, epoch: int, block: int, block_hash: str, reason: Reason, at: datetime
    ) -> None:
        """Store a round that had nothing to do (AlreadyOpenedError: the id is taken)."""
        facts = {
            "epoch": epoch,
            "block": block,
            "block_hash": block_hash,
            "state": "skipped",
            "reason": reason,
            "started_at": at,
            "settled_at": at,
            "task_count": 0,
            "dispatch_count": 0,
        }
        await self._create(round_id, facts)
        await self._as(Records).put(round_id, tuple(frames(SKIPPED)))

    async def open_rows(self, round_id: int) -> OpenRound:
        """Return what the tables have of an open round, for `recorded`."""
        dispatches_ = await self._as(Submissions).open_dispatches(round_id)
        named = {(one.task_id, one.hotkey): (one.signed_sha256, one.run_sha256) for one in dispatches_}
        documents = {
            sha256: blob
            for row in await self._all_of(round_id, _DOCUMENTS)
            for sha256, blob in zip(named[row.task_id, row.hotkey], (row.signed, row.run), strict=True)
            if sha256 is not None
        }
        row = (await self._all_of(round_id, _INPUT))[0]
        return OpenRound(
            round_id=round_id,
            input=row.input,
            plan=row.plan,
            tasks=await self._as(Tasks).of_round(round_id),
            dispatches=dispatches_,
            documents=documents,
        )

    async def settle(  # noqa: PLR0913, PLR0917 - a round, and its end
        self,
        round_id: int,
        state: EndState,
        reason: Reason,
        outcome: RoundOutcome | None,
        settled_at: datetime,
        record: Record | None = None,
        entries: Sequence[WindowEntry] = (),
    ) -> None:
        """End an open round. Call it first in the settling transaction: it is what keeps a second settler out.

        Its record is written and read back, and its rows become narrow. `record` is what `recorded` made of the same
        end; None: made here, of a round of few bytes. `entries` is what it adds to score windows.

        Raises:
            AlreadySettledError: the round is not open any more.
            WrongStateError: it never was.
            MismatchError: outcome, record and rows do not belong together.
            UnfinishedDispatchesError: as `recorded`.
        """
        if (state == "settled") != (outcome is not None):
            raise MismatchError("an outcome belongs to a settled round, and to no other")
        if outcome is not None and outcome.round_id != str(round_id):
            raise MismatchError(f"an outcome of round {outcome.round_id} for round {round_id}")
        await self._as(Tasks).require_open_round(round_id)
        if record is None:
            data, groups = (None, ()) if outcome is None else ((await canonical(outcome))[0], outcome.groups)
            end = RoundEnding(reason, data, groups)
            record = await asyncio.to_thread(recorded, await self.open_rows(round_id), end)
        if (record.outcome_sha256 is None) != (outcome is None):
            raise MismatchError(f"the record of round {round_id} has another end")
        values: dict[str, Any] = {
            "state": state,
            "reason": reason,
            "settled_at": settled_at,
            "input": None,
            "plan": None,
        }
        if outcome is not None:
            values |= {"outcome_sha256": record.outcome_sha256, **asdict(RoundSummary.of(outcome))}
        await self._changed(update(rounds).where(rounds.c.round_id == round_id).values(values))
        await self._as(Tasks).end(round_id, record.tasks)
        await self._as(Dispatches).end(record.rows)
        await self._as(Windows).enter(round_id, entries)
        await self._as(Records).put(round_id, record.frames)
        await self._compact(round_id)

    async def get(self, round_id: int) -> StoredRound | None:
        """Return a round with its documents."""
        row = await self._first(_OPEN_ROUND.where(rounds.c.round_id == round_id))
        if row is None:
            return None
        record = _record(row)
        if record.state == "open":
            return await self._stored(row)
        try:
            head = await self._as(Records).head(round_id)
        except DamagedError:
            head = None
        if head is None:
            return StoredRound(record, None, None)
        return StoredRound(
            record,
            _document(head.input, record.input_sha256, RoundInput),
            _document(head.outcome, record.outcome_sha256, RoundOutcome),
        )

    async def record(self, round_id: int) -> RoundRecord | None:
        """Return a round without its documents."""
        return await self._one(RoundRecord, _RECORD, {"round_id": round_id})

    async def frozen_columns(self, round_id: int) -> Mapping[str, Any]:
        """Return the columns of a round that follow from its input and plan, as `frozen_columns`."""
        return (await self._all_of(round_id, _FROZEN))[0]._asdict()

    async def document_bytes(self, round_id: int, which: Literal["input", "outcome"]) -> bytes | None:
        """Return a document's canonical bytes, not compared with their digest: for those who look for damage."""
        head = await self._as(Records).head(round_id)
        if head is not None:
            return head.input if which == "input" else head.outcome
        row = next(iter(await self._all_of(round_id, _INPUT)), None) if which == "input" else None
        return None if row is None or row.input is None else await unpack(row.input)

    async def ids(self, since: int = 0) -> tuple[int, ...]:
        """Return the ids of all rounds from `since` on, oldest first."""
        statement = select(rounds.c.round_id).where(rounds.c.round_id >= since).order_by(rounds.c.round_id)
        return tuple(row.round_id for row in await self._all(statement))

    async def unfinished(self) -> tuple[StoredRound, ...]:
        """Return the open rounds, oldest first: what a start after a crash has to settle or abandon."""
        rows = await self._all(_OPEN_ROUND.where(rounds.c.state == "open").order_by(rounds.c.round_id))
        return tuple([await self._stored(row) for row in rows])

    async def newest_frozen(self, through_block: int | None = None) -> NewestFrozen | None:
        """Return the newest round that was frozen, of those pinned to a block through this one.

        None if there is none.
        """
        r = rounds.c
        statement = select(r.round_id, r.netuid, r.epoch, r.block, r.scoring_version).where(r.netuid.is_not(None))
        if through_block is not None:
            statement = statement.where(r.block <= through_block)
        return await self._one(NewestFrozen, statement.order_by(r.round_id.desc()).limit(1))

    async def last_settled(self, least_dispatches: int = 0) -> datetime | None:
        """Return when a round of at least so many dispatches was settled last; None where none was."""
        settled = select(rounds.c.settled_at).where(
            rounds.c.state == "settled", rounds.c.dispatch_count >= least_dispatches
        )
        moment: datetime | None = await self._scalar(settled.order_by(rounds.c.round_id.desc()).limit(1))
        return moment

    async def listing(self, limit: int, before: int | None = None) -> tuple[RoundRecord, ...]:
        """Return at most `limit` rounds, newest first; with `before` those with a smaller id."""
        statement = select(*_FACTS).order_by(rounds.c.round_id.desc()).limit(limit)
        if before is not None:
            statement = statement.where(rounds.c.round_id < before)
        return await self._each(RoundRecord, statement)

    async def _create(self, round_id: int, facts: Mapping[str, Any]) -> None:
        if not await self._insert_new(rounds, {"round_id": round_id, "state": "open", **facts}):
            raise AlreadyOpenedError(f"round {round_id}")

    async def _stored(self, row: Row[Any]) -> StoredRound:
        """Return an open round."""
        try:
            data = None if row.input is None else await unpack(row.input)
        except DamagedError:
            data = None
        return StoredRound(_record(row), _document(data, row.input_sha256, RoundInput), None)

    async def _compact(self, round_id: int) -> None:
        """Move the rows of a round, which are small now, behind all others on SQLite.

        Where they are, the room that they leave stays theirs: nobody fills pages that are half empty. Behind the others
        they fill pages, and those where they were are free. Postgres puts every changed row elsewhere by itself.
        """
        if self._dialect == "sqlite":
            await self._connection.execute(_MOVE_TO_END, {"id": round_id})


def frozen_columns(frozen: RoundInput, plan: RoundPlan) -> dict[str, Any]:
    """Return the columns of a round that follow from its input and plan."""
    snapshot = frozen.snapshot
    return {
        "epoch": snapshot.epoch,
        "block": snapshot.block,
        "block_hash": snapshot.block_hash,
        "netuid": snapshot.netuid,
        "scoring_version": frozen.scoring_version,
        "task_count": len(plan.groups),
        "dispatch_count": sum(len(group.members) for group in plan.groups),
    }


def _document(data: bytes | None, sha256: str | None, kind: type[T]) -> T | None:
    if data is None or sha256_hex(data) != sha256:
        return None
    try:
        return typed.decode(data, kind)
    except msgspec.MsgspecError:
        return None


def _decimal(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and text == str(int(text))):
        raise MismatchError("`round_id` must be a decimal index without leading zeros")
    return int(text)


def _record(row: Row[Any]) -> RoundRecord:
    return RoundRecord(**{column.name: getattr(row, column.name) for column in _FACTS})
