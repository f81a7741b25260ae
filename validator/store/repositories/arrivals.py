"""What a round's dispatches do together: they leave, and answers that arrive at the same time are kept."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import CursorResult, Update, bindparam, or_, select, update

from validator.protocol.reasons import Reason
from validator.protocol.round import Packed
from validator.store.dispatch import Arrival, DispatchKey, DispatchState, Failure, JudgedAnswer
from validator.store.errors import MismatchError, WrongStateError
from validator.store.repositories.base import Repository
from validator.store.repositories.dispatches import Dispatches
from validator.store.repositories.submissions import Submissions
from validator.store.repositories.tasks import Tasks
from validator.store.tables import answers, dispatches, rounds

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
    {name: bindparam(name) for name in ("state", "reason", "signed_sha256", "submission", "kept_bytes", "detail")}
)


class Arrivals(Repository):
    """planned -> sent -> answered -> judged, or failed, of many dispatches of one round in few statements."""

    async def sent(self, keys: Sequence[DispatchKey], at: datetime) -> None:
        """Note that the first bytes of dispatches are about to leave, of all or none.

        Raises:
            AlreadySettledError: their round has ended.
            WrongStateError: one of them is not planned.
        """
        await self._move(_SENT, keys, [{**_at(key), "sent_at": at} for key in keys], ("planned",))

    async def keep(self, arrived: Sequence[Arrival]) -> None:
        """Keep whole responses with their raw bodies, all or none, before anything is read from them.

        Raises:
            AlreadySettledError: their round has ended.
            WrongStateError: one of them is not sent.
        """
        await self._move(_KEPT, [one.key for one in arrived], [_values(one) for one in arrived], ("sent",))
        rows = [{**one.key._asdict(), "body": one.packed, "stored_at": one.received_at} for one in arrived]
        await self._insert(answers, rows)

    async def failed(self, failures: Sequence[Failure]) -> None:
        """Note of dispatches, of all or none, that no usable response came.

        Raises:
            MismatchError: a reason is no gate's.
            AlreadySettledError: their round has ended.
            WrongStateError: one of them is neither planned nor sent.
        """
        await self._move(
            _FAILED, [one.key for one in failures], [_failed(one) for one in failures], ("planned", "sent")
        )

    async def judged(self, answers_: Sequence[JudgedAnswer]) -> None:
        """Store what the gates said of answers, all or none; their attestations are kept by hash.

        Judging again (after a crash) replaces an acceptance.

        Raises:
            MismatchError: a reason and its submission contradict each other, or a submission is another dispatch's.
            AlreadySettledError: their round has ended.
            WrongStateError: there is no answer, or it failed already.
        """
        passed = [_passed(one, one.submission) for one in answers_ if one.submission is not None]
        columns = iter(await Submissions(self._connection, self._packing).columns(passed))
        rows = [{**_at(one.key), **_judgement(one, columns), "detail": one.detail or None} for one in answers_]
        await self._move(_JUDGED, [one.key for one in answers_], rows, ("answered",))

    async def _move(
        self,
        statement: Update,
        keys: Sequence[DispatchKey],
        rows: Sequence[Mapping[str, Any]],
        allowed: Sequence[DispatchState],
    ) -> None:
        if not keys:  # of a round that found nobody
            return
        result: CursorResult[Any] = await self._connection.execute(statement, rows)
        missing = len(keys) - result.rowcount
        if missing and len(keys) == 1:
            await Dispatches(self._connection, self._packing).refuse(keys[0], allowed)
        if missing:
            await Tasks(self._connection, self._packing).require_open_round(keys[0].round_id)
            raise WrongStateError(f"{missing} of {len(keys)} dispatches are not {' or '.join(allowed)}")


def _at(key: DispatchKey) -> dict[str, Any]:
    return {f"of_{name}": value for name, value in key._asdict().items()}


def _values(one: Arrival) -> dict[str, Any]:
    return {
        **_at(one.key),
        "seconds": one.seconds,
        "http_status": one.status,
        "received_at": one.received_at,
        "body_bytes": one.size,
        "stalled": one.stalled or None,
        "raw": one.raw,
    }


def _failed(one: Failure) -> dict[str, Any]:
    return {
        **_at(one.key),
        "reason": _gate(one.reason),
        "seconds": one.seconds,
        "http_status": one.status,
        "detail": one.detail or None,
        "raw": one.raw,
    }


def _passed(one: JudgedAnswer, submission: Packed) -> Packed:
    if one.reason not in (Reason.ACCEPTED, Reason.ACCEPTED_EARLY):
        raise MismatchError(f"a submission with the reason `{one.reason}`")
    if (submission.task_id, submission.hotkey) != (one.key.task_id, one.key.hotkey):
        raise MismatchError("a submission of another dispatch")
    return submission


def _judgement(one: JudgedAnswer, columns: Iterator[dict[str, Any]]) -> dict[str, Any]:
    if one.submission is not None:
        return {"state": "answered", "reason": one.reason, **next(columns)}
    refused = {"state": "failed", "reason": _gate(one.reason)}
    return {**refused, "signed_sha256": None, "submission": None, "kept_bytes": None}


def _gate(reason: Reason) -> Reason:
    if not reason.gate:
        raise MismatchError(f"`{reason}` is no gate's reason")
    return reason
