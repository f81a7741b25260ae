"""Weight submissions: written down before they are sent, so that an epoch is never sent twice."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Row, select, update

from validator.store.errors import AlreadyPreparedError, WrongStateError
from validator.store.records import WeightsRecord, WeightsState
from validator.store.repositories.base import Repository
from validator.store.tables import weight_submissions


class WeightSubmissions(Repository):
    """One submission per (netuid, mechid, epoch)."""

    async def prepare(  # noqa: PLR0913, PLR0917 - a submission is these facts
        self,
        netuid: int,
        mechid: int,
        epoch: int,
        vector: Mapping[str, float],
        scores: Mapping[str, float],
        unallocated: float,
        at: datetime,
    ) -> int:
        """Write down what is about to be sent and return its id.

        Args:
            netuid: the subnet.
            mechid: the mechanism.
            epoch: subnet epoch index.
            vector: hotkey -> weight.
            scores: hotkey -> score that led to it.
            unallocated: share that no miner takes (D-11).
            at: now.

        Raises:
            AlreadyPreparedError: the epoch has a submission; what became of it must be found out, not sent again.
        """
        row = {
            "netuid": netuid,
            "mechid": mechid,
            "epoch": epoch,
            "state": "prepared",
            "vector": dict(vector),
            "scores": dict(scores),
            "unallocated": unallocated,
            "created_at": at,
            "updated_at": at,
        }
        key = {name: row[name] for name in ("netuid", "mechid", "epoch")}
        if not await self._insert_new(weight_submissions, row):
            raise AlreadyPreparedError(f"netuid {netuid}, mechanism {mechid}, epoch {epoch}")
        return int(await self._scalar(select(weight_submissions.c.id).filter_by(**key)))

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
        values = {
            "state": state,
            "updated_at": at,
            **{name: value for name, value in given.items() if value is not None},
        }
        w = weight_submissions.c
        open_one = update(weight_submissions).where(w.id == submission_id, w.state != "confirmed")
        if not await self._changed(open_one.values(values)):
            raise WrongStateError(f"weight submission {submission_id} is confirmed or does not exist")

    async def get(self, submission_id: int) -> WeightsRecord | None:
        """Return a submission by id."""
        return _record(await self._first(select(weight_submissions).where(weight_submissions.c.id == submission_id)))

    async def of_epoch(self, netuid: int, mechid: int, epoch: int) -> WeightsRecord | None:
        """Return the epoch's submission."""
        key = {"netuid": netuid, "mechid": mechid, "epoch": epoch}
        return _record(await self._first(select(weight_submissions).filter_by(**key)))

    async def latest(self, mechid: int) -> WeightsRecord | None:
        """Return the mechanism's newest submission, whatever became of it."""
        newest = select(weight_submissions).where(weight_submissions.c.mechid == mechid)
        return _record(await self._first(newest.order_by(weight_submissions.c.id.desc()).limit(1)))

    async def listing(self, limit: int) -> tuple[WeightsRecord, ...]:
        """Return the newest `limit` submissions, newest first."""
        newest = select(weight_submissions).order_by(weight_submissions.c.id.desc()).limit(limit)
        records = [_record(row) for row in await self._all(newest)]
        return tuple(record for record in records if record is not None)


def _record(row: Row[Any] | None) -> WeightsRecord | None:
    return None if row is None else WeightsRecord(**row._asdict())
