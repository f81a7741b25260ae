"""Sending a round: every member at once; each answer is stored as it arrives, then judged, an accepted plan run."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta

import structlog

from sssa.kinds.interface import Request
from sssa.kinds.judging import Accepted, Expected, Judged, Key, expected_of, reject
from sssa.kinds.registry import kind_of
from sssa.protocol.answer import Role
from sssa.protocol.dispatch_record import DispatchKey, Failure, JudgedAnswer
from sssa.protocol.reasons import Reason
from sssa.protocol.results import packed
from sssa.protocol.round import RoundInput, RoundTask
from sssa.sources import Clock
from validator.cancellation import together
from validator.kinds.services import Runner
from validator.miners.client import MinerClient
from validator.outgoing.calls import Call, Reply
from validator.outgoing.stalls import StalledError, StallsSince, no_stalls
from validator.rounds.answer_storage import AnswerStorage, Received
from validator.rounds.attribution import Attribution, NetworkAway, network_there
from validator.rounds.facts import PASSED
from validator.rounds.gatekeeper import Gatekeeper
from validator.rounds.prepare import Prepared
from validator.rounds.settle import Returned
from validator.store import PATIENCE_S, Store
from validator.store.errors import StoreLostError
from validator.store.repositories.rounds import StallRecord
from validator.telemetry import Event
from validator.workers.interface import WorkerKilledError

_log = structlog.get_logger()


def requests_of(prepared: Prepared) -> dict[str, Mapping[Role, Request]]:
    """Return the requests of a round, by task id and role."""
    frozen, bundles = prepared.frozen, prepared.bundles
    return {
        task.task_id: kind_of(task).send(frozen.round_id, frozen.runtime_image, task, bundles.get(task.task_id))
        for task in frozen.tasks
    }


def key_of(frozen: RoundInput, expected: Expected[RoundTask]) -> DispatchKey:
    """Return what the store has the dispatch under."""
    return DispatchKey(frozen.index, expected.task.task_id, expected.hotkey)


def deadline_of(expected: Expected[RoundTask]) -> float:
    """Return how many seconds the dispatch has."""
    return expected.task.windows.of(expected.role).deadline


def call_of(frozen: RoundInput, expected: Expected[RoundTask], request: Request, stalls: StallsSince) -> Call:
    """Return the call of a dispatch; `stalls` count as no miner's time."""
    neuron = frozen.snapshot.by_hotkey(expected.hotkey)
    return Call(
        hotkey=expected.hotkey,
        axon=None if neuron is None else neuron.axon,
        path=request.path,
        body=request.body,
        deadline_s=deadline_of(expected),
        limit=request.limit,
        sha256=request.sha256,
        tail=request.tail,
        stalls=stalls,
    )


def log_dispatch(
    frozen: RoundInput, expected: Expected[RoundTask], reply: Reply | None, reason: Reason, detail: str = ""
) -> None:
    """Write the dispatch's canonical line: what went well is for those who look closely."""
    (_log.debug if reason in PASSED else _log.info)(
        Event.DISPATCH,
        round_id=frozen.round_id,
        task_id=expected.task.task_id,
        skill_type=str(expected.task.skill_type),
        hotkey=expected.hotkey,
        role=expected.role,
        reason=reason,
        gate=reason.gate,
        seconds=None if reply is None or reply.seconds is None else round(reply.seconds, 3),
        http_status=None if reply is None else reply.status,
        detail=detail,
    )


@dataclass(slots=True)
class _Collected:
    """Replies received so far."""

    attribution: Attribution
    keeping: AnswerStorage
    judged: dict[Key, Judged] = field(default_factory=dict)
    alone: dict[Key, Reason] = field(default_factory=dict)
    failed: list[tuple[Expected[RoundTask], Reply]] = field(default_factory=list)
    undecided: list[tuple[Expected[RoundTask], Reply]] = field(default_factory=list)
    any_response: bool = False
    open: int = 0
    most_open: int = 0


@dataclass(frozen=True, slots=True)
class Dispatcher:
    """The sender of rounds to miners.

    `runners` are, by the kind's name, what runs answers that have to be run; `stalls` and `away` tell faults of the
    validator's from those of miners (D-26).
    """

    client: MinerClient
    store: Store
    clock: Clock
    gates: Gatekeeper
    runners: Mapping[str, Runner]
    stalls: StallsSince = no_stalls
    away: NetworkAway = network_there

    async def dispatch(self, prepared: Prepared) -> Returned:
        """Send every planned dispatch at once; return when each has answered, failed or run into its deadline.

        What has to be run is run as soon as it has passed its gates.

        Raises:
            StoreAwayError: the database was away before anything was sent, and for too long.
            StoreLostError: the store must not be used any more.
        """
        frozen, collected = prepared.frozen, _Collected(Attribution(self.stalls, self.away), AnswerStorage(self.store))
        began = self.clock.monotonic()
        requests = await asyncio.to_thread(requests_of, prepared)
        planned = [
            expected_of(frozen, task, hotkey, role)
            for task, plan in zip(frozen.tasks, prepared.plan.groups, strict=True)
            for hotkey, role in plan.members
        ]
        await self._mark_sent(frozen, planned)
        # What one raises is of the store: anything else ends that dispatch alone.
        await together(
            self._one(frozen, expected, requests[expected.task.task_id][expected.role], collected)
            for expected in planned
        )
        await self._attribute(frozen, collected, began)
        returned = Returned(
            collected.judged,
            alone=collected.alone,
            any_response=collected.any_response,
            most_open=collected.most_open,
        )
        return returned.with_void_tasks(prepared.plan)

    async def _mark_sent(self, frozen: RoundInput, planned: Sequence[Expected[RoundTask]]) -> None:
        """Note in one transaction that all of them go out now: what a crash finds so is void (D-6)."""
        keys, now = [key_of(frozen, expected) for expected in planned], self.clock.now()
        # Not later: what a snapshot says of miners' addresses grows old.
        await self.store.lasting(lambda tx: tx.arrivals.sent(keys, now), patience_s=PATIENCE_S)

    async def _one(
        self, frozen: RoundInput, expected: Expected[RoundTask], request: Request, collected: _Collected
    ) -> None:
        task, hotkey = expected.task, expected.hotkey
        try:
            reply = await self._ask(frozen, expected, request, collected)
            await self._take(frozen, expected, reply, collected)
        except StoreLostError:
            raise
        except Exception:  # noqa: BLE001 - a fault of ours, whatever it is, must not cost a miner anything
            _log.exception("dispatch_failed", round_id=frozen.round_id, task_id=task.task_id, hotkey=hotkey)
            collected.alone[task.task_id, hotkey] = Reason.BUG_INTERNAL
            with suppress(Exception):  # where the store fails, too, settling notes it
                async with self.store.begin() as tx:
                    await tx.dispatches.void(Failure(key_of(frozen, expected), Reason.BUG_INTERNAL))
            log_dispatch(frozen, expected, None, Reason.BUG_INTERNAL)

    async def _ask(
        self, frozen: RoundInput, expected: Expected[RoundTask], request: Request, collected: _Collected
    ) -> Reply:
        """Send, and count the requests that are open."""
        opened = False

        async def sent() -> None:
            nonlocal opened
            opened = True
            collected.open += 1
            collected.most_open = max(collected.most_open, collected.open)

        try:
            reply = await self.client.post(call_of(frozen, expected, request, self.stalls), sent)
        finally:
            collected.open -= opened
        collected.any_response |= reply.status is not None
        collected.attribution.note(reply)
        return reply

    async def _take(
        self, frozen: RoundInput, expected: Expected[RoundTask], reply: Reply, collected: _Collected
    ) -> None:
        """Store an answer and judge it, or store the failure with its cause."""
        attribution, deadline = collected.attribution, deadline_of(expected)
        if reply.reason is None:
            try:
                judged = await self._keep_and_judge(key_of(frozen, expected), expected, reply, collected)
            except (WorkerKilledError, StalledError) as error:
                ours = Reason.LOCAL_STALL if isinstance(error, StalledError) else Reason.LOCAL_RESOURCES
                await self._void(frozen, expected, reply, collected, ours, error.detail)
                return
            collected.judged[expected.task.task_id, expected.hotkey] = judged
            log_dispatch(frozen, expected, reply, judged.reason, judged.detail)
        elif reply.reason == Reason.LOCAL_RESOURCES:
            await self._void(frozen, expected, reply, collected, reply.reason, reply.detail)
        elif (detail := attribution.stalled(reply)) is not None:
            await self._void(frozen, expected, reply, collected, Reason.LOCAL_STALL, detail)
        elif await attribution.may_be_cut_off(reply, deadline):
            collected.undecided.append((expected, reply))  # a crash finds it sent
        else:
            await self._fail(frozen, expected, reply, collected)

    async def _fail(
        self, frozen: RoundInput, expected: Expected[RoundTask], reply: Reply, collected: _Collected
    ) -> None:
        """Charge a failure to the miner."""
        if reply.reason is None:
            raise RuntimeError("an answer is judged by its gates")
        reason = reply.reason
        await collected.keeping.keep(
            Failure(key_of(frozen, expected), reason, reply.seconds, reply.status, reply.detail, reply.raw)
        )
        judged = reject(expected, reply.reason, reply.seconds, reply.detail)
        collected.judged[expected.task.task_id, expected.hotkey] = judged
        collected.failed.append((expected, reply))
        log_dispatch(frozen, expected, reply, reply.reason, reply.detail)

    async def _void(  # noqa: PLR0913, PLR0917 - a dispatch, and why it is void
        self,
        frozen: RoundInput,
        expected: Expected[RoundTask],
        reply: Reply,
        collected: _Collected,
        reason: Reason,
        detail: str,
    ) -> None:
        """Make a dispatch void alone, now."""
        fault = Failure(key_of(frozen, expected), reason, reply.seconds, reply.status, detail, reply.raw)
        await self.store.lasting(lambda tx: tx.dispatches.void(fault))
        task_id, hotkey = expected.task.task_id, expected.hotkey
        charged = collected.judged.pop((task_id, hotkey), None)
        collected.alone[task_id, hotkey] = reason
        if charged is None:
            log_dispatch(frozen, expected, reply, reason, detail)
        else:
            _log.info(
                "dispatch_voided",
                round_id=frozen.round_id,
                task_id=task_id,
                hotkey=hotkey,
                reason=str(reason),
                detail=detail,
            )

    async def _attribute(self, frozen: RoundInput, collected: _Collected, began: float) -> None:
        """Decide what only the end of everybody's time tells, and keep the round's stalls."""
        attribution = collected.attribution
        for expected, reply in (*collected.undecided, *collected.failed):
            charged = (expected.task.task_id, expected.hotkey) in collected.judged
            if (detail := attribution.stalled(reply)) is not None:
                await self._void(frozen, expected, reply, collected, Reason.LOCAL_STALL, detail)
            elif not charged and attribution.cut_off(reply, deadline_of(expected)):
                await self._void(frozen, expected, reply, collected, Reason.LOCAL_NETWORK, reply.detail)
            elif not charged:
                await self._fail(frozen, expected, reply, collected)
        stalls = self.stalls(began)
        if stalls:
            now, moment = self.clock.now(), self.clock.monotonic()
            records = [StallRecord(now - timedelta(seconds=moment - one.start), one.seconds) for one in stalls]
            await self.store.lasting(lambda tx: tx.stalls.put(frozen.index, records))

    async def _keep_and_judge(
        self, key: DispatchKey, expected: Expected[RoundTask], reply: Reply, collected: _Collected
    ) -> Judged:
        if reply.body is None or reply.status is None:
            raise RuntimeError("a reply without a reason has a body and a status")
        t_min = expected.task.windows.of(expected.role).t_min
        seconds, stalled = collected.attribution.own_time(reply, t_min)
        with reply.body as body:
            at = self.clock.now()
            await collected.keeping.keep(Received(key, seconds, reply.status, body, at, stalled, reply.raw))
            judged = await self.gates.judge(key, expected, body.read, seconds)
        return judged if isinstance(judged, Judged) else await self._run(key, expected, judged, seconds)

    async def _run(self, key: DispatchKey, expected: Expected[RoundTask], accepted: Accepted, seconds: float) -> Judged:
        """Run what was accepted and keep the result of it at once: a crash must not make it happen twice.

        Raises:
            WorkerKilledError: the machine ended what judged a step.
            StalledError: a service gave up while the validator stood still.
        """
        try:
            answer = await self.runners[kind_of(expected.task).name].run(str(key.round_id), expected, accepted, seconds)
        except ExceptionGroup as failed:
            if failed.subgroup(WorkerKilledError) is not None:
                raise WorkerKilledError("the machine killed the workers that judged a step") from failed
            if failed.subgroup(StalledError) is not None:
                raise StalledError("a service ended a step's exchange") from failed
            raise
        reason, kept = answer.reason(expected.task.windows), packed(answer)
        await self.store.lasting(lambda tx: tx.arrivals.judged([JudgedAnswer(key, reason, kept)]))
        return Judged(kept, reason)
