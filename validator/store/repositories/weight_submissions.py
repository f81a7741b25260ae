"""Weight vectors, their receipts and submissions, and the guard against a second validator on one hotkey."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, delete, func, insert, inspect, or_, select, update

from sssa.protocol.reasons import Reason
from sssa.protocol.receipt import WeightsLink
from validator.store.codec import pack, unpack
from validator.store.errors import AlreadyPreparedError, EmptyReasonError, WrongStateError
from validator.store.repositories.repository import Repository
from validator.store.rows import RowState, VectorRecord, WeightLock, WeightMark, WeightsRecord, WeightsState
from validator.store.tables import weight_links, weight_locks, weight_marks, weight_submissions, weight_vectors

_V = weight_vectors.c


class WeightVectors(Repository):
    """Vectors with the rounds that they were made of, and whom they did not pay."""

    async def put(self, record: VectorRecord) -> None:
        """Write down a vector; one that was computed for the same epoch before is replaced."""
        row = {**asdict(record), "unpaid": record.unpaid}
        await self._upsert(weight_vectors, [row])

    async def newest(self, netuid: int, mechid: int, before: int | None = None) -> VectorRecord | None:
        """Return the mechanism's vector of the highest epoch, of those before one if it is given; None without any."""
        mine = select(weight_vectors).where(_V.netuid == netuid, _V.mechid == mechid)
        mine = mine if before is None else mine.where(_V.epoch < before)
        return await self._one(VectorRecord, mine.order_by(_V.epoch.desc()).limit(1))

    async def of_epoch(self, netuid: int, mechid: int, epoch: int) -> VectorRecord | None:
        """Return the epoch's vector."""
        key = {"netuid": netuid, "mechid": mechid, "epoch": epoch}
        return await self._one(VectorRecord, select(weight_vectors).filter_by(**key))


_L = weight_links.c


class LoggedVector(NamedTuple):
    """A vector in the log: its receipt, why it is not sent (None: it is), and the digest of its line."""

    sequence: int
    reason: Reason | None
    sha256: str


class WeightLinks(Repository):
    """Weight vectors in the log, by the number of their receipt."""

    async def add(self, sequence: int, link: WeightsLink, line: bytes) -> None:
        """Keep the line that a receipt names."""
        row = {
            "sequence": sequence,
            "netuid": link.netuid,
            "mechid": link.mechid,
            "epoch": link.epoch,
            "reason": link.reason,
            "sha256": link.sha256,
            "line": await pack(line),
        }
        await self._insert(weight_links, [row])

    async def newest(self, netuid: int, mechid: int, epoch: int) -> LoggedVector | None:
        """Return what the log note last of the epoch's vector, None where it says nothing."""
        mine = select(_L.sequence, _L.reason, _L.sha256).where(*_of(netuid, mechid, epoch))
        return await self._one(LoggedVector, mine.order_by(_L.sequence.desc()).limit(1))

    async def unsent(self, netuid: int, mechid: int, epoch: int) -> int:
        """Return how many vectors of the epoch the log tells that are not sent."""
        mine = select(func.count()).where(*_of(netuid, mechid, epoch), _L.reason.is_not(None))
        return int(await self._scalar(mine))

    async def line(self, sequence: int) -> bytes | None:
        """Return the line that a receipt names, without the newline and not compared with its digest (DamagedError)."""
        blob = await self._scalar(select(_L.line).where(_L.sequence == sequence))
        return None if blob is None else await unpack(blob)


def _of(netuid: int, mechid: int, epoch: int) -> tuple[ColumnElement[bool], ...]:
    return _L.netuid == netuid, _L.mechid == mechid, _L.epoch == epoch


_W = weight_submissions.c
# What was refused never comes into force, and the cause may pass (a nonce, a full pool, a limit missed by a block).
_RECENT: Final = 4  # epochs
_MAX_REFUSED: Final = 3  # attempts, of which the last was refused


class PlannedWeights(NamedTuple):
    """The content of a submission: weight and score by hotkey, the share without a miner (D-11), u16 by uid to be sent.

    `link` is the number of the receipt that says so (SPEC 16, D-28).
    """

    vector: Mapping[str, float]
    scores: Mapping[str, float]
    unallocated: float
    sent: Mapping[int, int]
    link: int | None = None


def refused_for_good(record: WeightsRecord) -> bool:
    """Return whether the chain refused the epoch's weights so often that they are not sent again."""
    return record.state == "rejected" and record.attempts >= _MAX_REFUSED


class WeightSubmissions(Repository):
    """One submission per (netuid, mechid, epoch)."""

    async def prepare(self, netuid: int, mechid: int, epoch: int, plan: PlannedWeights, at: datetime) -> WeightsRecord:
        """Write down what is about to be signed.

        The epoch's row, if it is `prepared`, `expired` or `rejected` less than three attempts in, gets the new plan;
        prepared rows of earlier epochs expire.

        Raises:
            AlreadyPreparedError: the epoch has a submission that may be or is on chain, or was refused permanently.
        """
        key = {"netuid": netuid, "mechid": mechid, "epoch": epoch}
        outdated = update(weight_submissions).where(*_outdated(netuid, mechid, epoch))
        await self._changed(outdated.values(state="expired", updated_at=at))
        row = {**key, "state": "prepared", **_columns(plan), "updated_at": at}
        if not await self._insert_new(weight_submissions, {**row, "attempts": 0, "created_at": at}):
            refused = and_(_W.state == "rejected", _W.attempts < _MAX_REFUSED)
            free = or_(_W.state.in_(("prepared", "expired")), refused)
            again = update(weight_submissions).filter_by(**key).where(free)
            if not await self._changed(again.values(row)):
                raise AlreadyPreparedError(f"netuid {netuid}, mechanism {mechid}, epoch {epoch}")
        prepared = await self.of_epoch(netuid, mechid, epoch)
        assert prepared is not None  # noqa: S101 - it was written in this transaction
        return prepared

    async def outdated(self, netuid: int, mechid: int, epoch: int) -> tuple[int, ...]:
        """Return the receipts of what was never signed and is of an earlier epoch: `prepare` lets it expire."""
        statement = select(_W.link).where(*_outdated(netuid, mechid, epoch), _W.link.is_not(None)).order_by(_W.epoch)
        return tuple(row.link for row in await self._all(statement))

    async def submit(
        self, prepared: WeightsRecord, plan: PlannedWeights, *, signed_block: int, lifetime: int, at: datetime
    ) -> None:
        """Write down that from now on the bytes of a prepared plan may leave.

        They may arrive until `lifetime` blocks after the head at signing (WrongStateError: somebody else was faster;
        nothing may be sent).
        """
        mine = update(weight_submissions).where(
            _W.id == prepared.id, _W.state == "prepared", _W.attempts == prepared.attempts
        )
        values = {
            "state": "submitted",
            **_columns(plan),
            "attempts": prepared.attempts + 1,
            "signed_block": signed_block,
            "lifetime": lifetime,
            "expiry_block": signed_block + lifetime,
            "block": None,
            "message": None,
            "extrinsic": None,
            "updated_at": at,
        }
        if not await self._changed(mine.values(values)):
            raise WrongStateError(f"weight submission {prepared.id} is not prepared any more")

    async def update(  # noqa: PLR0913 - each is one column
        self,
        submission_id: int,
        state: WeightsState,
        at: datetime,
        *,
        block: int | None = None,
        message: str | None = None,
        extrinsic: str | None = None,
        row_state: RowState | None = None,
    ) -> None:
        """Note the result of a submission; what is None stays as it was (WrongStateError)."""
        given = {"block": block, "message": message, "extrinsic": extrinsic, "row_state": row_state}
        values = {name: value for name, value in given.items() if value is not None}
        await self._note(submission_id, {"state": state, "updated_at": at, **values})

    async def lose(self, submission_id: int, at: datetime, message: str | None) -> None:
        """Note that the chain's answer is no longer awaited (WrongStateError: as `update`)."""
        note = {} if message is None else {"message": message}
        values = {"state": "unknown", "updated_at": at, **note}
        await self._note(submission_id, values)

    async def _note(self, submission_id: int, values: Mapping[str, Any]) -> None:
        open_one = update(weight_submissions).where(_W.id == submission_id, _W.state != "confirmed")
        if not await self._changed(open_one.values(values)):
            raise WrongStateError(f"weight submission {submission_id} is confirmed or does not exist")

    async def get(self, submission_id: int) -> WeightsRecord | None:
        """Return a submission by id."""
        return await self._one(WeightsRecord, select(weight_submissions).where(_W.id == submission_id))

    async def of_epoch(self, netuid: int, mechid: int, epoch: int) -> WeightsRecord | None:
        """Return the epoch's submission."""
        key = {"netuid": netuid, "mechid": mechid, "epoch": epoch}
        return await self._one(WeightsRecord, select(weight_submissions).filter_by(**key))

    async def newest(self, netuid: int, mechid: int) -> WeightsRecord | None:
        """Return the submission of the highest epoch."""
        mine = select(weight_submissions).where(_W.netuid == netuid, _W.mechid == mechid)
        return await self._one(WeightsRecord, mine.order_by(_W.epoch.desc()).limit(1))

    async def highest_confirmed(self, netuid: int) -> int | None:
        """Return the highest block that is known to hold weights of ours, over all mechanisms."""
        statement = select(func.max(_W.block)).where(_W.netuid == netuid, _W.state == "confirmed")
        block: int | None = await self._scalar(statement)
        return block

    async def confirmed_epoch(self, netuid: int, mechid: int) -> int | None:
        """Return the newest epoch whose weights are on chain; None where none are.

        A commitment counts before its reveal, unless the newest reveal failed.
        """
        mine = select(_W.row_state, func.max(_W.epoch).label("epoch")).group_by(_W.row_state)
        mine = mine.where(_W.netuid == netuid, _W.mechid == mechid, _W.state == "confirmed")
        newest: dict[str | None, int] = {row.row_state: row.epoch for row in await self._all(mine)}
        failed, committed = newest.pop("reveal_failed", -1), newest.pop("committed", -1)
        for unknown in ("unseen", "undetermined"):
            newest.pop(unknown, None)
        shown = max(newest.values(), default=-1)
        epoch = shown if failed > shown else max(shown, committed)
        return None if epoch < 0 else epoch

    async def rows(self, netuid: int, mechid: int) -> tuple[WeightsRecord, ...]:
        """Return submissions on chain, newest first: those of the newest epochs, and all that are not compared yet."""
        mine = (_W.netuid == netuid, _W.mechid == mechid, _W.state == "confirmed")
        recent = _W.epoch > select(func.max(_W.epoch) - _RECENT).where(*mine).scalar_subquery()
        waiting = or_(_W.row_state.is_(None), _W.row_state == "committed")
        rows = select(weight_submissions).where(*mine, or_(recent, waiting)).order_by(_W.epoch.desc())
        return await self._each(WeightsRecord, rows)

    async def note_row(self, submission_id: int, row_state: RowState, at: datetime) -> None:
        """Note the result of comparing the row on chain with a submission that is on chain."""
        mine = update(weight_submissions).where(_W.id == submission_id, _W.state == "confirmed")
        await self._changed(mine.values(row_state=row_state, updated_at=at))

    async def latest(self, mechid: int) -> WeightsRecord | None:
        """Return the mechanism's newest submission, whatever the result."""
        newest = select(weight_submissions).where(_W.mechid == mechid)
        return await self._one(WeightsRecord, newest.order_by(_W.id.desc()).limit(1))

    async def listing(self, limit: int) -> tuple[WeightsRecord, ...]:
        """Return the newest `limit` submissions, newest first."""
        newest = select(weight_submissions).order_by(_W.id.desc()).limit(limit)
        return await self._each(WeightsRecord, newest)


def _outdated(netuid: int, mechid: int, epoch: int) -> tuple[ColumnElement[bool], ...]:
    return _W.netuid == netuid, _W.mechid == mechid, _W.epoch < epoch, _W.state == "prepared"


def _columns(plan: PlannedWeights) -> dict[str, Any]:
    return {
        "vector": dict(plan.vector),
        "scores": dict(plan.scores),
        "unallocated": plan.unallocated,
        "sent": {str(uid): value for uid, value in plan.sent.items()},
        "link": plan.link,
    }


class WeightGuard(Repository):
    """Marks per (netuid, mechid, hotkey); locks for the whole store."""

    async def present(self) -> bool:
        """Return whether the tables without which nothing may be sent exist."""
        return await self._connection.run_sync(_present)

    async def last_written(self, netuid: int) -> datetime | None:
        """Return when anything about weights of the subnet was written last."""
        moments = []
        for table in (weight_submissions, weight_marks):
            statement = select(func.max(table.c.updated_at)).where(table.c.netuid == netuid)
            moments.append(await self._scalar(statement))
        return max((moment for moment in moments if moment is not None), default=None)

    async def mark(self, netuid: int, mechid: int, hotkey: str) -> WeightMark | None:
        """Return what was last known, None before the first look."""
        m = weight_marks.c
        statement = select(m.uid, m.last_update, m.block).filter_by(netuid=netuid, mechid=mechid, hotkey=hotkey)
        return await self._one(WeightMark, statement)

    async def set_mark(self, netuid: int, mechid: int, hotkey: str, mark: WeightMark, at: datetime) -> None:
        """Note what is known now."""
        key = {"netuid": netuid, "mechid": mechid, "hotkey": hotkey}
        await self._upsert(weight_marks, [{**key, **mark._asdict(), "updated_at": at}])

    async def lock(self, seen: str, at: datetime) -> None:
        """Note that nothing may be sent any more, and why; what is locked stays as it is."""
        if await self.locked() is None:
            await self._connection.execute(insert(weight_locks).values(locked_at=at, seen=seen))

    async def locked(self) -> WeightLock | None:
        """Return the active lock."""
        w = weight_locks.c
        statement = select(w.id, w.locked_at, w.seen).where(w.cleared_at.is_(None)).order_by(w.id).limit(1)
        return await self._one(WeightLock, statement)

    async def unlock(self, reason: str, at: datetime) -> int:
        """Clear the locks, forget the marks, and return how many locks there were (EmptyReasonError).

        Without marks the next start takes the chain as it finds it for its own.
        """
        if not reason.strip():
            raise EmptyReasonError("write down why, it is stored with the lock")
        active = update(weight_locks).where(weight_locks.c.cleared_at.is_(None))
        await self._connection.execute(delete(weight_marks))
        return await self._changed(active.values(cleared_at=at, cleared_reason=reason.strip()))


def _present(connection: Connection) -> bool:
    tables = inspect(connection).get_table_names()
    return {table.name for table in (weight_submissions, weight_marks, weight_locks)} <= set(tables)
