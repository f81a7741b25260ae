"""Repository of dispatches. States: planned, sent, then answered or failed; void alone (D-26) or with a task (D-6)."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple, NoReturn

import msgspec
from sqlalchemy import (
    ColumnElement,
    CursorResult,
    Table,
    Update,
    and_,
    bindparam,
    case,
    delete,
    func,
    or_,
    select,
    update,
)

from sssa.protocol.dispatch_record import (
    Arrival,
    Dispatch,
    DispatchKey,
    DispatchState,
    Failure,
    JudgedAnswer,
    PlannedDispatch,
    ScoredDispatch,
)
from sssa.protocol.reasons import OURS, Reason
from validator.store.codec import unpack
from validator.store.errors import MismatchError, WrongStateError
from validator.store.record import NarrowRow, judged_facts, packed_documents
from validator.store.repositories.records import Records, Scores, Submissions
from validator.store.repositories.repository import ROUND, Repository
from validator.store.repositories.tasks import Tasks
from validator.store.tables import answers, dispatches, judged_documents, miners, rounds

_COUNTED: Final = ("answered", "failed")
_BODIES: Final = select(answers.c.task_id, answers.c.hotkey, answers.c.body).where(answers.c.round_id == ROUND)


_LISTED: Final = select(
    *(dispatches.c[name] for name in ("task_id", "hotkey", "skill_type", "role", "rank", "state", "reason"))
).where(dispatches.c.round_id == ROUND)


class RecentAnswers(NamedTuple):
    """A miner's recent results for one skill type.

    `answered`: an answer passed the gates. `failed`: the first round with a failure after the miner's newest accepted
    answer of any type; None without one.
    """

    hotkey: str
    skill_type: str
    answered: bool
    failed: int | None


class Dispatches(Repository):
    """Dispatches by (round_id, task_id, hotkey); immutable after their round has ended."""

    async def plan(self, planned: Sequence[PlannedDispatch]) -> None:
        """Insert the planned dispatches of a round."""
        await self._insert(dispatches, [one._asdict() for one in planned])

    async def void(self, fault: Failure) -> None:
        """Make one dispatch void: the validator caused it (D-26). Measured fields stay, the answer is cleared.

        Raises:
            MismatchError: the reason is not in `OURS`.
            AlreadySettledError: its round has ended.
        """
        if fault.reason not in OURS:
            raise MismatchError(f"`{fault.reason}` cannot void a single dispatch")
        known = {
            "seconds": fault.seconds,
            "http_status": fault.status,
            "detail": fault.detail or None,
            "raw": fault.raw,
        }
        given = {name: value for name, value in known.items() if value is not None}
        nothing = dict.fromkeys(("signed_sha256", "submission"))
        open_round = select(rounds.c.round_id).where(rounds.c.round_id == fault.key.round_id, rounds.c.state == "open")
        mine = update(dispatches).where(_at(dispatches, fault.key), open_round.exists())
        if not await self._changed(mine.values({"state": "void", "reason": fault.reason, **nothing, **given})):
            await self.refuse(fault.key, ("planned", "sent", "answered", "failed", "void"))

    async def end(self, rows: Sequence[NarrowRow]) -> None:
        """Write the rows of a round that ends (MismatchError: one changed after the record was made)."""
        if not rows:
            return
        result: CursorResult[Any] = await self._connection.execute(_ENDED, [row._asdict() for row in rows])
        if result.rowcount != len(rows):
            raise MismatchError(f"{len(rows) - result.rowcount} dispatches have changed since the record was made")
        await self._changed(delete(judged_documents).where(judged_documents.c.round_id == rows[0].of_round_id))

    async def kept_bytes(self, newest: int) -> dict[str, int]:
        """Return bytes stored permanently for answers of the `newest` rounds by registered hotkey, largest first."""
        last_seen = select(func.max(miners.c.last_seen_block)).scalar_subquery()
        last_round = select(func.max(dispatches.c.round_id)).scalar_subquery()
        kept = func.sum(dispatches.c.kept_bytes).label("kept")
        statement = (
            select(dispatches.c.hotkey, kept)
            .join(miners, miners.c.hotkey == dispatches.c.hotkey)
            .where(dispatches.c.round_id > last_round - newest, dispatches.c.kept_bytes.is_not(None))
            .where(miners.c.last_seen_block == last_seen)
            .group_by(dispatches.c.hotkey)
            .order_by(kept.desc(), dispatches.c.hotkey)
        )
        return {row.hotkey: int(row.kept) for row in await self._all(statement)}

    async def recent(self, since: datetime) -> tuple[RecentAnswers, ...]:
        """Return the results of each (hotkey, skill_type) in the ended rounds that began at `since` or later."""
        d, r = dispatches.c, rounds.c
        older = select(r.round_id).where(r.started_at < since).order_by(r.round_id.desc()).limit(1)
        still_open = select(r.round_id).where(r.state == "open")
        passed = case((d.state == "answered", d.round_id)).label("passed")
        ended = (  # made first: in the windows' order SQLite would read every dispatch ever stored
            select(d.hotkey, d.skill_type, d.round_id, passed)
            .where(d.round_id > func.coalesce(older.scalar_subquery(), -1), d.round_id.not_in(still_open))
            .where(d.state.in_(_COUNTED))
            .cte("ended")
            .prefix_with("MATERIALIZED")
        )
        newest = func.max(ended.c.passed).over(partition_by=ended.c.hotkey).label("newest")
        counted = select(ended, newest).subquery("counted")
        c = counted.c
        statement = select(
            c.hotkey,
            c.skill_type,
            func.max(c.passed).is_not(None).label("answered"),
            func.min(case((c.round_id > c.newest, c.round_id))).label("failed"),
        ).group_by(c.hotkey, c.skill_type)
        return tuple(
            RecentAnswers(row.hotkey, row.skill_type, bool(row.answered), row.failed)
            for row in await self._all(statement)
        )

    async def of_round(self, round_id: int) -> tuple[Dispatch, ...]:
        """Return a round's dispatches in plan order: primaries by rank, then auditors by draw."""
        head = await self._as(Records).head(round_id)
        return await self._as(Submissions).open_dispatches(round_id) if head is None else head.dispatches

    async def listed(self, round_id: int) -> dict[tuple[str, str], tuple[Any, ...]]:
        """Return the table's columns of a round's dispatches, for comparison with the record's `Head.listed`."""
        rows = await self._all_of(round_id, _LISTED)
        return {(row.task_id, row.hotkey): tuple(row)[2:] for row in rows}

    async def scored(self, round_id: int) -> tuple[ScoredDispatch, ...]:
        """Return `of_round` with the stored score of each, or None."""
        members = await self._as(Scores).of_round(round_id)
        scores = {(member.task_id, member.hotkey): member for member in members}
        return tuple(
            ScoredDispatch(**msgspec.structs.asdict(one), score=scores.get((one.task_id, one.hotkey)))
            for one in await self.of_round(round_id)
        )

    async def get(self, key: DispatchKey) -> Dispatch | None:
        """Return one dispatch, None if it was never planned."""
        return next((one for one in await self.of_round(key.round_id) if one.key == key), None)

    async def answer_body(self, key: DispatchKey) -> bytes | None:
        """Return the raw body as received; None when there is none or its retention has ended (DamagedError)."""
        blob = await self._scalar(select(answers.c.body).where(_at(answers, key)))
        return None if blob is None else await unpack(blob)

    async def bodies_of_round(self, round_id: int) -> dict[tuple[str, str], bytes]:
        """Return the raw bodies of a round, as they are stored, by task and hotkey; together they must be few bytes."""
        return {(row.task_id, row.hotkey): row.body for row in await self._all_of(round_id, _BODIES)}

    async def refuse(self, key: DispatchKey, allowed: Sequence[DispatchState]) -> NoReturn:
        """Raise the reason why a dispatch is in none of the `allowed` states (AlreadySettledError, WrongStateError)."""
        await self._as(Tasks).require_open_round(key.round_id)
        state = await self._scalar(select(dispatches.c.state).where(_at(dispatches, key)))
        raise WrongStateError(
            f"dispatch {key.round_id}/{key.task_id} to {key.hotkey} is {state or 'unknown'}, not {' or '.join(allowed)}"
        )


def _at(table: Table, key: DispatchKey) -> ColumnElement[bool]:
    return and_(
        table.c.round_id == key.round_id,
        table.c.task_id == key.task_id,
        table.c.hotkey == key.hotkey,
    )


_KEY: Final = ("round_id", "task_id", "hotkey")
_OPEN: Final = select(rounds.c.round_id).where(rounds.c.round_id == dispatches.c.round_id, rounds.c.state == "open")
_ONE: Final = update(dispatches).where(
    *(dispatches.c[name] == bindparam(f"of_{name}") for name in _KEY), _OPEN.exists()
)
_SENT: Final = _ONE.where(dispatches.c.state == "planned").values(state="sent", sent_at=bindparam("sent_at"))
_KEPT: Final = _ONE.where(dispatches.c.state == "sent").values(
    state="answered",
    **{name: bindparam(name) for name in ("seconds", "http_status", "received_at", "body_bytes", "stalled", "raw")},
)
# Not with IN, whose list is written out anew for each statement: many rows have one.
_FAILED: Final = _ONE.where(or_(dispatches.c.state == "planned", dispatches.c.state == "sent")).values(
    state="failed", **{name: bindparam(name) for name in ("reason", "seconds", "http_status", "detail", "raw")}
)
_JUDGED: Final = _ONE.where(dispatches.c.state == "answered").values(
    {name: bindparam(name) for name in ("state", "reason", "signed_sha256", "submission", "detail")}
)
# The columns that a row keeps once its round has ended; the others are then in the record.
_KEPT_COLUMNS: Final = ("skill_type", "role", "rank", "state", "reason", "entry", "entered_in", "kept_bytes")
_ENDED: Final = (
    update(dispatches)
    .where(*(dispatches.c[name] == bindparam(f"of_{name}") for name in (*_KEY, "state")))
    .where(dispatches.c.reason.is_not_distinct_from(bindparam("of_reason")))
    .values({name: bindparam(name) for name in ("state", "reason", "kept_bytes")})
    .values({column.key: None for column in dispatches.c if column.key not in (*_KEY, *_KEPT_COLUMNS)})
)


class Arrivals(Repository):
    """State changes of many dispatches of one round, all or none: sent, answered, failed, and judgements.

    Raises:
        MismatchError: a reason is not a gate's or contradicts its submission, or that belongs to another dispatch.
        AlreadySettledError: their round has ended.
        WrongStateError: one of them is in another state.
    """

    async def sent(self, keys: Sequence[DispatchKey], at: datetime) -> None:
        """Record that the first bytes of planned dispatches are about to be sent."""
        await self._move(_SENT, keys, [{**_key(key), "sent_at": at} for key in keys], ("planned",))

    async def keep(self, arrived: Sequence[Arrival]) -> None:
        """Store whole responses with their raw bodies, before they are parsed."""
        await self._move(_KEPT, [one.key for one in arrived], [_values(one) for one in arrived], ("sent",))
        rows = [{**one.key._asdict(), "body": one.packed, "stored_at": one.received_at} for one in arrived]
        await self._insert(answers, rows)

    async def failed(self, failures: Sequence[Failure]) -> None:
        """Record that no usable response arrived for dispatches that were planned or sent."""
        await self._move(
            _FAILED, [one.key for one in failures], [_failed(one) for one in failures], ("planned", "sent")
        )

    async def judged(self, answers_: Sequence[JudgedAnswer]) -> None:
        """Store judgements of answers before their round is settled, with the documents that they name.

        A repeated judgement, after a crash, replaces an acceptance.
        """
        facts, documents = await asyncio.to_thread(_judgements, answers_)
        await self._upsert(judged_documents, documents)
        await self._move(_JUDGED, [one.key for one in answers_], facts, ("answered",))

    async def _move(
        self,
        statement: Update,
        keys: Sequence[DispatchKey],
        rows: Sequence[Mapping[str, Any]],
        allowed: Sequence[DispatchState],
    ) -> None:
        if not keys:  # a round without dispatches
            return
        result: CursorResult[Any] = await self._connection.execute(statement, rows)
        missing = len(keys) - result.rowcount
        if missing and len(keys) == 1:
            await self._as(Dispatches).refuse(keys[0], allowed)
        if missing:
            await self._as(Tasks).require_open_round(keys[0].round_id)
            raise WrongStateError(f"{missing} of {len(keys)} dispatches are not {' or '.join(allowed)}")


def _key(key: DispatchKey) -> dict[str, Any]:
    return {f"of_{name}": value for name, value in key._asdict().items()}


def _values(one: Arrival) -> dict[str, Any]:
    return {
        **_key(one.key),
        "seconds": one.seconds,
        "http_status": one.status,
        "received_at": one.received_at,
        "body_bytes": one.size,
        "stalled": one.stalled or None,
        "raw": one.raw,
    }


def _failed(one: Failure) -> dict[str, Any]:
    return {
        **_key(one.key),
        "reason": _gate(one.reason),
        "seconds": one.seconds,
        "http_status": one.status,
        "detail": one.detail or None,
        "raw": one.raw,
    }


def _judgements(judged: Sequence[JudgedAnswer]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the rows of judgements, and of the documents that they name."""
    documents = []
    for one in judged:
        if one.submission is not None:
            signed, run = (*packed_documents(one.submission).values(), None)[:2]
            documents.append({**one.key._asdict(), "signed": signed, "run": run})
    return [{**_key(one.key), **judged_facts(one)} for one in judged], documents


def _gate(reason: Reason) -> Reason:
    if not reason.gate:
        raise MismatchError(f"`{reason}` is no gate's reason")
    return reason
