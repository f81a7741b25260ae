"""Weight submissions: written down before they are signed, so that an epoch is never sent twice."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Row, and_, func, or_, select, update

from validator.store.errors import AlreadyPreparedError, WrongStateError
from validator.store.records import WeightsRecord, WeightsState
from validator.store.repositories.base import Repository
from validator.store.tables import weight_submissions

_W = weight_submissions.c
# What was refused never comes into force, and the cause may pass (a nonce, a full pool, a limit missed by a block).
_MAX_REFUSED: Final = 3  # attempts, of which the last was refused


class PlannedWeights(NamedTuple):
    """What a submission holds.

    Attributes:
        vector: hotkey to weight.
        scores: hotkey to score that led to it.
        unallocated: share that no miner takes (D-11).
        sent: uid to u16 as the chain should store it.
        link: number of the receipt that says so (SPEC 16, D-28).
    """

    vector: Mapping[str, float]
    scores: Mapping[str, float]
    unallocated: float
    sent: Mapping[int, int]
    link: int | None = None


def refused_for_good(record: WeightsRecord) -> bool:
    """Whether the chain refused the epoch's weights so often that they are not sent again."""
    return record.state == "rejected" and record.attempts >= _MAX_REFUSED


class WeightSubmissions(Repository):
    """One submission per (netuid, mechid, epoch)."""

    async def prepare(self, netuid: int, mechid: int, epoch: int, plan: PlannedWeights, at: datetime) -> WeightsRecord:
        """Write down what is about to be signed.

        The epoch's row, if it is `prepared`, `expired` or `rejected` less than three attempts in, gets the new plan;
        prepared rows of earlier epochs expire.

        Args:
            netuid: the subnet.
            mechid: the mechanism.
            epoch: subnet epoch index.
            plan: what is to be sent.
            at: now.

        Raises:
            AlreadyPreparedError: the epoch has a submission that may be or is on chain, or was refused for good.
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
        found = await self.of_epoch(netuid, mechid, epoch)
        assert found is not None  # noqa: S101 - it was written in this transaction
        return found

    async def outdated(self, netuid: int, mechid: int, epoch: int) -> tuple[int, ...]:
        """Return the receipts of what was never signed and is of an earlier epoch: `prepare` lets it expire."""
        statement = select(_W.link).where(*_outdated(netuid, mechid, epoch), _W.link.is_not(None)).order_by(_W.epoch)
        return tuple(row.link for row in await self._all(statement))

    async def submit(
        self, prepared: WeightsRecord, plan: PlannedWeights, *, signed_block: int, lifetime: int, at: datetime
    ) -> None:
        """Write down that from now on the bytes may leave, and which.

        Args:
            prepared: as `prepare` returned it.
            plan: what is sent.
            signed_block: the head.
            lifetime: so many blocks past the head at signing it may arrive.
            at: now.

        Raises:
            WrongStateError: somebody else was faster; nothing may be sent.
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
    ) -> None:
        """Note what became of a submission; what is None stays as it was.

        Raises:
            WrongStateError: no such submission, or it is confirmed: that is final.
        """
        given = {"block": block, "message": message, "extrinsic": extrinsic}
        values = {name: value for name, value in given.items() if value is not None}
        await self._note(submission_id, {"state": state, "updated_at": at, **values})

    async def lose(self, submission_id: int, expiry_block: int | None, at: datetime, message: str | None) -> None:
        """Note that nobody waits for the chain's answer any more.

        Args:
            submission_id: which one.
            expiry_block: past this block it cannot arrive; None until the head at signing is bounded.
            at: now.
            message: why; None leaves what is there.

        Raises:
            WrongStateError: as for `update`.
        """
        said = {} if message is None else {"message": message}
        values = {"state": "unknown", "expiry_block": expiry_block, "updated_at": at, **said}
        await self._note(submission_id, values)

    async def _note(self, submission_id: int, values: Mapping[str, Any]) -> None:
        open_one = update(weight_submissions).where(_W.id == submission_id, _W.state != "confirmed")
        if not await self._changed(open_one.values(values)):
            raise WrongStateError(f"weight submission {submission_id} is confirmed or does not exist")

    async def get(self, submission_id: int) -> WeightsRecord | None:
        """Return a submission by id."""
        return _record(await self._first(select(weight_submissions).where(_W.id == submission_id)))

    async def of_epoch(self, netuid: int, mechid: int, epoch: int) -> WeightsRecord | None:
        """Return the epoch's submission."""
        key = {"netuid": netuid, "mechid": mechid, "epoch": epoch}
        return _record(await self._first(select(weight_submissions).filter_by(**key)))

    async def newest(self, netuid: int, mechid: int) -> WeightsRecord | None:
        """Return the submission of the highest epoch."""
        mine = select(weight_submissions).where(_W.netuid == netuid, _W.mechid == mechid)
        return _record(await self._first(mine.order_by(_W.epoch.desc()).limit(1)))

    async def highest_confirmed(self, netuid: int) -> int | None:
        """Return the highest block that is known to hold weights of ours, over all mechanisms."""
        statement = select(func.max(_W.block)).where(_W.netuid == netuid, _W.state == "confirmed")
        block: int | None = await self._scalar(statement)
        return block

    async def confirmed_epoch(self, netuid: int, mechid: int) -> int | None:
        """Return the newest epoch whose weights are on chain; None where none are."""
        mine = select(func.max(_W.epoch)).where(_W.netuid == netuid, _W.mechid == mechid, _W.state == "confirmed")
        epoch: int | None = await self._scalar(mine)
        return epoch

    async def latest(self, mechid: int) -> WeightsRecord | None:
        """Return the mechanism's newest submission, whatever became of it."""
        newest = select(weight_submissions).where(_W.mechid == mechid)
        return _record(await self._first(newest.order_by(_W.id.desc()).limit(1)))

    async def listing(self, limit: int) -> tuple[WeightsRecord, ...]:
        """Return the newest `limit` submissions, newest first."""
        newest = select(weight_submissions).order_by(_W.id.desc()).limit(limit)
        records = [_record(row) for row in await self._all(newest)]
        return tuple(record for record in records if record is not None)


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


def _record(row: Row[Any] | None) -> WeightsRecord | None:
    return None if row is None else WeightsRecord(**row._asdict())
