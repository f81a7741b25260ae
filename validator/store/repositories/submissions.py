"""What came back in a round, as the second argument of score_round: read for crash recovery, explain and replay."""

from typing import Any

import msgspec
from sqlalchemy import Row, and_, select

from validator.protocol.round import Rejection, RoundResults, Submission, VoidTask
from validator.store.errors import DamagedError
from validator.store.repositories.base import Repository
from validator.store.repositories.sssas import Sssas
from validator.store.tables import dispatches, tasks


class Submissions(Repository):
    """Submissions and rejections as judged."""

    async def results(self, round_id: int) -> RoundResults:
        """Return what came back, in the order of the plan.

        Answers that are not judged yet are in neither list; void tasks appear only as such.

        Raises:
            DamagedError: a stored submission or attestation cannot be read.
        """
        statement = (
            select(dispatches)
            .join(tasks, and_(tasks.c.round_id == dispatches.c.round_id, tasks.c.task_id == dispatches.c.task_id))
            .where(dispatches.c.round_id == round_id)
            .order_by(tasks.c.position, dispatches.c.rank)
        )
        found = await self._all(statement)
        void = select(tasks.c.task_id, tasks.c.reason).where(tasks.c.round_id == round_id, tasks.c.state == "void")
        return RoundResults(
            submissions=tuple([await self._submission(row) for row in found if _accepted(row)]),
            rejections=tuple(
                Rejection(row.task_id, row.hotkey, row.role, row.reason, row.seconds)
                for row in found
                if row.state == "failed"
            ),
            void=tuple(VoidTask(row.task_id, row.reason) for row in await self._all(void.order_by(tasks.c.position))),
        )

    async def _submission(self, row: Row[Any]) -> Submission:
        sssa = await Sssas(self._connection, self._packing).load(row.sssa_sha256)
        try:
            return msgspec.convert({**row.submission, "sssa": sssa}, Submission)
        except msgspec.ValidationError as error:
            raise DamagedError(f"submission {round_key(row)}: {error}") from None


def submission_columns(submission: Submission) -> dict[str, Any]:
    """Return the columns that hold a submission: its attestation is stored by hash, the rest as JSON."""
    rest = msgspec.to_builtins(submission)
    del rest["sssa"]
    return {"sssa_sha256": submission.sssa_sha256, "submission": rest}


def round_key(row: Row[Any]) -> str:
    """Return a dispatch's key for messages."""
    return f"{row.round_id}/{row.task_id}/{row.hotkey}"


def _accepted(row: Row[Any]) -> bool:
    return row.state == "answered" and row.submission is not None
