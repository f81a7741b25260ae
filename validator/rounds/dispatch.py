"""Sending a round: every member of every task at once, each answer stored as it arrives and then judged."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import structlog

from validator.kinds.interface import Request, Runner
from validator.kinds.judging import Accepted, Expected, Judged, Key, expected_of, reject
from validator.kinds.registry import kind_of
from validator.miners.calls import Call, MinerClient, Reply
from validator.outgoing.body import Body
from validator.protocol.answer import Role
from validator.protocol.reasons import Reason
from validator.protocol.round import RoundInput, RoundTask
from validator.rounds.gatekeeper import Gatekeeper
from validator.rounds.prepare import Prepared
from validator.rounds.settle import Returned
from validator.sources import Clock
from validator.store import Store
from validator.store.dispatch import DispatchKey

_log = structlog.get_logger()


@dataclass(slots=True)
class _Collected:
    """What came back so far."""

    judged: dict[Key, Judged] = field(default_factory=dict)
    void: dict[str, Reason] = field(default_factory=dict)
    any_response: bool = False
    open: int = 0
    most_open: int = 0


@dataclass(frozen=True, slots=True)
class Dispatcher:
    """Sends rounds to miners.

    Args:
        client, store, clock: what it uses.
        gates: where answers are judged.
        runners: by the kind's name, what runs answers that have to be run.
        storing: held while an answer is read and stored.
    """

    client: MinerClient
    store: Store
    clock: Clock
    gates: Gatekeeper
    runners: Mapping[str, Runner]
    storing: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def dispatch(self, prepared: Prepared) -> Returned:
        """Send every planned dispatch at once; return when each has answered, failed or run into its deadline.

        What has to be run is run as soon as it has passed its gates.
        """
        frozen, collected = prepared.frozen, _Collected()
        requests = await asyncio.to_thread(_requests, prepared)
        planned = [
            expected_of(frozen, task, hotkey, role)
            for task, plan in zip(frozen.tasks, prepared.plan.groups, strict=True)
            for hotkey, role in plan.members
        ]
        await self._mark_sent(frozen, planned)
        async with asyncio.TaskGroup() as group:
            for expected in planned:
                request = requests[expected.task.task_id][expected.role]
                group.create_task(self._one(frozen, expected, request, collected))
        return Returned(collected.judged, collected.void, collected.any_response, collected.most_open)

    async def _mark_sent(self, frozen: RoundInput, planned: Sequence[Expected[RoundTask]]) -> None:
        """Note in one transaction that all of them go out now: what a crash finds so is void (D-6)."""
        now = self.clock.now()
        async with self.store.begin() as tx:
            for expected in planned:
                await tx.dispatches.sent(_key(frozen, expected), now)

    async def _one(
        self, frozen: RoundInput, expected: Expected[RoundTask], request: Request, collected: _Collected
    ) -> None:
        task, hotkey = expected.task, expected.hotkey
        try:
            reply, judged = await self._ask(frozen, expected, request, collected)
        except Exception:  # noqa: BLE001 - a fault of ours, whatever it is, must not cost a miner anything
            _log.exception("dispatch_failed", round_id=frozen.round_id, task_id=task.task_id, hotkey=hotkey)
            collected.void[task.task_id] = Reason.BUG_INTERNAL
            return
        if judged is None:
            collected.void[task.task_id] = Reason.BUG_INTERNAL
        else:
            collected.judged[task.task_id, hotkey] = judged
        _log_dispatch(frozen, expected, reply, judged)

    async def _ask(
        self, frozen: RoundInput, expected: Expected[RoundTask], request: Request, collected: _Collected
    ) -> tuple[Reply, Judged | None]:
        """Send, store what came, judge it; no judgement when the fault was ours."""
        key = _key(frozen, expected)

        opened = False

        async def sent() -> None:
            nonlocal opened
            opened = True
            collected.open += 1
            collected.most_open = max(collected.most_open, collected.open)

        try:
            reply = await self.client.post(_call(frozen, expected, request), sent)
        finally:
            collected.open -= opened
        collected.any_response |= reply.status is not None
        if reply.reason == Reason.BUG_INTERNAL:
            return reply, None
        if reply.reason is not None:
            async with self.store.begin() as tx:
                await tx.dispatches.failed(
                    key, reply.reason, seconds=reply.seconds, status=reply.status, detail=reply.detail
                )
            return reply, reject(expected, reply.reason, reply.seconds, reply.detail)
        return reply, await self._keep_and_judge(key, expected, reply)

    async def _keep_and_judge(self, key: DispatchKey, expected: Expected[RoundTask], reply: Reply) -> Judged:
        if reply.body is None or reply.seconds is None or reply.status is None:
            raise RuntimeError("a reply without a reason has a body, a time and a status")
        with reply.body as received:
            await self._keep(key, received, reply.seconds, reply.status)
            judged = await self.gates.judge(key, expected, received.read, reply.seconds)
        return judged if isinstance(judged, Judged) else await self._run(key, expected, judged, reply.seconds)

    async def _keep(self, key: DispatchKey, received: Body, seconds: float, status: int) -> None:
        """Store an answer; one at a time is in memory, however many wait for the store."""
        at = self.clock.now()
        async with self.storing:
            raw = await asyncio.to_thread(received.read)
            async with self.store.begin() as tx:
                await tx.dispatches.answered(key, seconds, status, raw, at)

    async def _run(self, key: DispatchKey, expected: Expected[RoundTask], accepted: Accepted, seconds: float) -> Judged:
        """Run what was accepted and keep what came of it at once: a crash must not make it happen twice."""
        runner = self.runners[kind_of(expected.task).name]
        answer = await runner.run(str(key.round_id), expected, accepted, seconds)
        reason = answer.reason(expected.task.windows)
        async with self.store.begin() as tx:
            await tx.dispatches.judged(key, reason, answer)
        return Judged(answer, reason)


def _requests(prepared: Prepared) -> dict[str, Mapping[Role, Request]]:
    round_id, bundles = prepared.frozen.round_id, prepared.bundles
    return {
        task.task_id: kind_of(task).send(round_id, task, bundles.get(task.task_id)) for task in prepared.frozen.tasks
    }


def _key(frozen: RoundInput, expected: Expected[RoundTask]) -> DispatchKey:
    return DispatchKey(frozen.index, expected.task.task_id, expected.hotkey)


def _call(frozen: RoundInput, expected: Expected[RoundTask], request: Request) -> Call:
    neuron = frozen.snapshot.by_hotkey(expected.hotkey)
    return Call(
        hotkey=expected.hotkey,
        axon=None if neuron is None else neuron.axon,
        path=request.path,
        body=request.body,
        deadline_s=expected.task.windows.of(expected.role).deadline,
        limit=request.limit,
    )


def _log_dispatch(frozen: RoundInput, expected: Expected[RoundTask], reply: Reply, judged: Judged | None) -> None:
    """Write the dispatch's canonical line."""
    reason = Reason.BUG_INTERNAL if judged is None else judged.reason
    _log.info(
        "dispatch",
        round_id=frozen.round_id,
        task_id=expected.task.task_id,
        skill_type=str(expected.task.skill_type),
        hotkey=expected.hotkey,
        role=expected.role,
        reason=reason,
        gate=reason.gate,
        seconds=None if reply.seconds is None else round(reply.seconds, 3),
        http_status=reply.status,
        detail=reply.detail if judged is None else judged.detail,
    )
