"""Hand-over of answers to worker processes for the gates; stores one that costs too much as rejected (SPEC 5, D-27)."""

from collections.abc import Callable
from functools import partial

from sssa.kinds.judging import Accepted, Expected, Judged, reject
from sssa.kinds.registry import kind_of
from sssa.protocol.dispatch_record import DispatchKey, JudgedAnswer
from sssa.protocol.reasons import Reason
from sssa.protocol.round import RoundTask
from validator.store import Store
from validator.workers.interface import TooCostlyError, Whose, Workers

ReadBody = Callable[[], bytes]


class Gatekeeper:
    """The way of answers through the gates of their kind.

    What is too costly to judge is rejected, and kept so at once.
    """

    def __init__(self, workers: Workers, store: Store) -> None:
        self._workers = workers
        self._store = store

    async def judge(
        self, key: DispatchKey, expected: Expected[RoundTask], body: ReadBody, seconds: float
    ) -> Judged | Accepted:
        """Return what the gates say of one answer, which the store has: its judgement, or what is to be run.

        `body` reads the answer; it is called off the event loop when it is the answer's turn.

        Raises:
            WorkersError: a fault of ours; `WorkerKilledError` where the machine ended the workers (D-26).
        """
        kind = kind_of(expected.task)
        try:
            return await self._workers.run(
                _whose(expected), lambda: partial(kind.judge, expected, body(), seconds), urgent=kind.runs
            )
        except TooCostlyError as error:
            return await self._too_costly(key, expected, seconds, error.detail)

    async def _too_costly(self, key: DispatchKey, expected: Expected[RoundTask], seconds: float, detail: str) -> Judged:
        """Reject the answer, and keep that now: after a crash it must not be judged again."""
        rejected = JudgedAnswer(key, Reason.PARSE_TOO_COSTLY, detail=detail)
        await self._store.lasting(lambda tx: tx.arrivals.judged([rejected]))
        return reject(expected, Reason.PARSE_TOO_COSTLY, seconds, detail)


def _whose(expected: Expected[RoundTask]) -> Whose:
    return Whose(expected.hotkey, expected.task.task_id)
