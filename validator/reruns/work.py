"""Running an answer again, as a kind of waiting work: one try of one rerun (SPEC 15)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import ClassVar, Final, NamedTuple

from validator.conditions import Board
from validator.protocol.probes import probe_values
from validator.protocol.reasons import Reason
from validator.protocol.rerun import RerunEvent
from validator.queue.work import Finished, Impossible, Outcome, Postponed, Words
from validator.reruns.comparing import Verdict, compare_answer
from validator.reruns.sandbox.job import Evidence, Sandbox, SandboxFailure, SandboxJob
from validator.reruns.watch import note_engine
from validator.store import Store, Transaction
from validator.store.repositories.reruns import Reruns
from validator.store.rerun import Rerun
from validator.telemetry import Event
from validator.workers.interface import TooCostlyError, Whose, Workers, WorkersError

MOST_WAITING: Final = 500
"""Reruns that may wait in the store. A round whose reruns do not fit queues none: nothing piles up for ever."""
MOST_TRIES: Final = 12


class _Needs(NamedTuple):
    """What a try needs of the store."""

    job: SandboxJob
    body: bytes
    scoring_version: str


@dataclass(frozen=True, slots=True)
class WaitingReruns:
    """Answers that wait to be run again.

    A failure of the engine, of a pull or of ours is tried again later and after `MOST_TRIES` ends the rerun
    inconclusive: it never counts against a miner.
    """

    name: ClassVar[str] = "reruns"
    words: ClassVar[Words] = Words(Event.RERUN_ENDED, Event.RERUN_POSTPONED, Event.RERUNS_FAILED)

    def queue(self, tx: Transaction) -> Reruns:
        """Return the table of reruns."""
        return tx.reruns

    def gives_up(self, taken: Rerun, reason: Reason) -> bool:  # noqa: ARG002 - whatever the reason
        """Whether that was the last try."""
        return taken.attempts >= MOST_TRIES

    def named(self, taken: Rerun) -> Mapping[str, str]:
        """Return what every line about the rerun names it by."""
        return {
            "rerun_id": taken.rerun_id,
            "round_id": str(taken.key.round_id),
            "task_id": taken.key.task_id,
            "skill_type": str(taken.skill_type),
            "hotkey": taken.key.hotkey,
        }


@dataclass(frozen=True, slots=True)
class RerunWork(WaitingReruns):
    """The same, run in the sandbox; what their images do is compared with what their miners claim.

    Args:
        store, sandbox, workers: what it works with.
        board: told when the engine is away.
    """

    store: Store
    sandbox: Sandbox
    workers: Workers
    board: Board

    async def attempt(self, taken: Rerun) -> Outcome:
        """Run the answer's image once and compare."""
        async with self.store.read() as tx:
            needs = await _needs(tx, taken)
        if needs is None:
            return Impossible(Reason.RERUN_LOST)
        found = await self.sandbox.run(needs.job)
        note_engine(self.board, found)
        if isinstance(found, SandboxFailure):
            return _failed(taken, found)
        try:
            verdict = await self._compare(taken, needs, found)
        except WorkersError as error:
            return Postponed(Reason.BUG_INTERNAL, error.detail)
        return _done(taken, verdict, round(found.seconds, 3))

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


def _failed(rerun: Rerun, failure: SandboxFailure) -> Outcome:
    if failure.ours:
        return Postponed(failure.reason, failure.detail)
    event: RerunEvent = "digest_mismatch" if failure.reason == Reason.DIGEST_MISMATCH else "rerun_fail"
    return _done(rerun, Verdict(event, failure.reason, None, failure.detail), None)


def _done(rerun: Rerun, verdict: Verdict, seconds: float | None) -> Finished:
    async def write(tx: Transaction, at: datetime, detail: str) -> bool:
        return await tx.reruns.done(rerun, verdict.event, verdict.reason, verdict.report, at, detail)

    return Finished(write, verdict.event, verdict.reason, verdict.detail, seconds)


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
        image=rerun.image,
        skill_type=task.skill_type,
        bundle=bundle,
        nonce=task.nonce,
        probes=probe_values(task.nonce),
    )
    return _Needs(job, body, frozen.scoring_version)
