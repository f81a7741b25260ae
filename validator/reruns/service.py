"""The embedded worker: what waits in the store is run in the sandbox, and its end is written down once (SPEC 15)."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Final, NamedTuple

import structlog

from validator.conditions import Board, Once, place_of
from validator.protocol.probes import probe_values
from validator.protocol.reasons import Reason
from validator.protocol.text import printable
from validator.reruns.comparing import Verdict, compare_answer
from validator.reruns.sandbox.job import Evidence, Sandbox, SandboxFailure, SandboxJob
from validator.sources import Clock
from validator.store import Store, Transaction
from validator.store.errors import StoreAwayError, StoreLostError
from validator.store.rerun import Rerun
from validator.telemetry import Event
from validator.workers.interface import TooCostlyError, Whose, Workers, WorkersError

MOST_WAITING: Final = 500
"""Reruns that may wait in the store. A round whose reruns do not fit queues none: nothing piles up for ever."""
MOST_TRIES: Final = 12
AT_ONCE: Final = 2
_FIRST_PAUSE_S: Final = 60.0
_LONGEST_PAUSE_S: Final = 3600.0
_LOOK_S: Final = 5.0
_LOOK_AGAIN_S: Final = 30.0
_DETAIL: Final = 500
_ENGINE: Final = frozenset({Reason.SANDBOX_NO_ENGINE, Reason.SANDBOX_UNFIT, Reason.SANDBOX_ENGINE})
_log = structlog.get_logger()


def pause_after(attempts: int) -> float:
    """Return the seconds before the next try after so many: 1 minute, doubled each time, at most an hour."""
    return float(min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2 ** (attempts - 1)))


class _Needs(NamedTuple):
    """What a try needs of the store."""

    job: SandboxJob
    body: bytes
    scoring_version: str


@dataclass(slots=True)
class RerunService:
    """Runs what waits, several at a time, fair between miners; a service of the daemon.

    A failure of the engine, of a pull or of ours is tried again later and after `MOST_TRIES` ends the rerun
    inconclusive: it never counts against a miner. What was running when the process ended is tried again.

    Args:
        store, sandbox, clock, workers: what it works with.
        board: told when the engine is away.
        at_once: so many runs at the same time.
    """

    store: Store
    sandbox: Sandbox
    clock: Clock
    workers: Workers
    board: Board
    at_once: int = AT_ONCE
    _said: Once = field(init=False)

    def __post_init__(self) -> None:
        self._said = Once(self.clock)

    async def run(self) -> None:
        """Take back what a crash left running, in the store and in the engine, then work until cancelled.

        Raises:
            StoreLostError: the store must not be used any more.
        """
        await self._unless_away(self._take_back)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._look())
            for _ in range(self.at_once):
                group.create_task(self._work())

    async def _take_back(self) -> bool:
        async with self.store.read() as tx:
            left = await tx.reruns.running()
        for rerun in left:
            await self._later(rerun, Reason.BUG_CRASH, "")
        return True

    async def _look(self) -> None:
        """Tell at the start, before anything waits, whether the engine is there; look again until it is."""
        while not await self._unless_away(self._fit):
            await self.clock.sleep(_LOOK_AGAIN_S)

    async def _fit(self) -> bool:
        failure = await self.sandbox.start()
        if failure is None:
            self.board.clear("sandbox_away")
            return True
        self.board.raise_("sandbox_away", failure.detail)
        return False

    async def _work(self) -> None:
        while True:
            if not await self._unless_away(self._one):
                await self.clock.sleep(_LOOK_S)

    async def _unless_away(self, work: Callable[[], Awaitable[bool]]) -> bool:
        """Return whether there was something to do; an error of ours is said once per change and waited out."""
        try:
            return await work()
        except StoreLostError:
            raise
        except StoreAwayError:
            return False  # the board has it
        except Exception as error:  # noqa: BLE001 - one rerun must not end the others
            repeats = self._said.fresh(place_of(error))
            if repeats is not None:
                _log.exception(Event.RERUNS_FAILED, reason=Reason.BUG_INTERNAL, repeats=repeats)
            return False

    async def _one(self) -> bool:
        """Try the next rerun that is due; return whether there was one."""
        async with self.store.read() as tx:
            due = await tx.reruns.next_due()
        if due is None or due > self.clock.now():
            return False
        async with self.store.begin() as tx:
            rerun = await tx.reruns.take(self.clock.now())
        if rerun is None:
            return False
        try:
            await self._try(rerun)
        except (StoreLostError, StoreAwayError):
            raise
        except Exception as error:
            await self._later(rerun, Reason.BUG_INTERNAL, f"{type(error).__name__}: {error}")
            raise
        return True

    async def _try(self, rerun: Rerun) -> None:
        async with self.store.read() as tx:
            needs = await _needs(tx, rerun)
        if needs is None:
            await self._give_up(rerun, Reason.RERUN_LOST, "")
            return
        found = await self.sandbox.run(needs.job)
        if isinstance(found, SandboxFailure):
            await self._failed(rerun, found)
            return
        self.board.clear("sandbox_away")
        try:
            verdict = await self._compare(rerun, needs, found)
        except WorkersError as error:
            await self._later(rerun, Reason.BUG_INTERNAL, error.detail)
            return
        await self._done(rerun, verdict, round(found.seconds, 3))

    async def _compare(self, rerun: Rerun, needs: _Needs, found: Evidence) -> Verdict:
        call = partial(
            compare_answer, needs.scoring_version, rerun.skill_type, needs.job.nonce, needs.body, found.files
        )
        try:
            verdict = await self.workers.run(Whose(rerun.key.hotkey, rerun.key.task_id), lambda: call)
        except TooCostlyError as error:  # the answer's own traces were not: they have been judged
            verdict = Verdict("rerun_fail", Reason.RERUN_TRACES, None, error.detail)
        if verdict.event == "rerun_pass":
            return verdict
        return verdict._replace(detail=f"{verdict.detail} (the program ended {found.ended}, code {found.exit_code})")

    async def _failed(self, rerun: Rerun, failure: SandboxFailure) -> None:
        if failure.reason in _ENGINE:
            self.board.raise_("sandbox_away", failure.detail)
        else:
            self.board.clear("sandbox_away")
        if failure.ours:
            await self._later(rerun, failure.reason, failure.detail)
        elif failure.reason == Reason.DIGEST_MISMATCH:
            await self._done(rerun, Verdict("digest_mismatch", failure.reason, None, failure.detail), None)
        else:
            await self._done(rerun, Verdict("rerun_fail", failure.reason, None, failure.detail), None)

    async def _done(self, rerun: Rerun, verdict: Verdict, seconds: float | None) -> None:
        now, detail = self.clock.now(), printable(verdict.detail.strip(), _DETAIL)

        async def write(tx: Transaction) -> bool:
            return await tx.reruns.done(rerun, verdict.event, verdict.reason, verdict.report, now, detail)

        if await self.store.lasting(write):
            _tell_end(rerun, verdict.event, verdict.reason, detail, seconds)

    async def _later(self, rerun: Rerun, reason: Reason, detail: str) -> None:
        """Try again later, or give it up if that was the last try."""
        if rerun.attempts >= MOST_TRIES:
            await self._give_up(rerun, reason, detail)
            return
        due = self.clock.now() + timedelta(seconds=pause_after(rerun.attempts))
        shown = printable(detail, _DETAIL)
        if await self.store.lasting(lambda tx: tx.reruns.again(rerun, reason, due, shown)):
            _log.info(
                Event.RERUN_POSTPONED,
                **_named(rerun),
                reason=reason,
                detail=shown,
                attempts=rerun.attempts,
                seconds=pause_after(rerun.attempts),
            )

    async def _give_up(self, rerun: Rerun, reason: Reason, detail: str) -> None:
        now, shown = self.clock.now(), printable(detail, _DETAIL)
        if await self.store.lasting(lambda tx: tx.reruns.give_up(rerun, reason, now, shown)):
            _tell_end(rerun, "inconclusive", reason, shown, None)


def _named(rerun: Rerun) -> dict[str, str]:
    """Return what every line about the rerun names it by."""
    return {
        "rerun_id": rerun.rerun_id,
        "round_id": str(rerun.key.round_id),
        "task_id": rerun.key.task_id,
        "skill_type": str(rerun.skill_type),
        "hotkey": rerun.key.hotkey,
    }


def _tell_end(rerun: Rerun, outcome: str, reason: Reason, detail: str, seconds: float | None) -> None:
    """Write the rerun's canonical line."""
    _log.info(
        Event.RERUN_ENDED,
        **_named(rerun),
        outcome=outcome,
        reason=reason,
        detail=detail,
        attempts=rerun.attempts,
        seconds=seconds,
    )


async def _needs(tx: Transaction, rerun: Rerun) -> _Needs | None:
    """Return what the try needs, None where some of it is gone."""
    stored = await tx.rounds.get(rerun.key.round_id)
    frozen = None if stored is None else stored.input
    task = next((task for task in frozen.tasks if task.task_id == rerun.key.task_id), None) if frozen else None
    if frozen is None or task is None:
        return None
    bundle, body = await tx.bundles.get(task.bundle_sha256), await tx.dispatches.answer_body(rerun.key)
    if bundle is None or body is None:
        return None
    job = SandboxJob(
        image=rerun.image.image,
        digest=rerun.image.digest,
        skill_type=task.skill_type,
        bundle=bundle,
        nonce=task.nonce,
        probes=probe_values(task.nonce),
    )
    return _Needs(job, body, frozen.scoring_version)
