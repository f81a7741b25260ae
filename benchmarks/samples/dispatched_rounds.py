"""Rounds as large as is asked for, sent by what the daemon sends rounds with.

Every dispatch is marked, signed and sent; every answer is stored as it arrives. It is not judged: that is another
benchmark, and done by other processes.
"""

import itertools
import random
import tempfile
from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace
from random_rounds import crowded

from samples.calls import PATIENCE_S, SIGNER, Turn, axons, timed
from samples.silent_log import unlogged
from sssa.kinds.judging import Judged
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.reasons import Reason
from sssa.protocol.results import Rejection
from sssa.protocol.round import AssessmentTask, GroupPlan, Neuron, RoundInput, RoundPlan
from sssa.protocol.skill_types import SkillType
from sssa.protocol.task import Windows
from sssa.scoring import CURRENT, version
from sssa.sources import SystemClock
from validator.miners.client import HttpMinerClient
from validator.outgoing.calls import Call, Reply, Sent
from validator.rounds.dispatch import Dispatcher
from validator.rounds.gatekeeper import Gatekeeper
from validator.rounds.prepare import Prepared
from validator.store import Store, open_store
from validator.workers.interface import Here, Whose

_MINERS: Final = 64
_MEMBERS: Final = 5
_PRIMARIES: Final = 3
_BUNDLE: Final = 37_000  # bytes: 50 KB in a request
_WINDOWS: Final = Windows((0.0, PATIENCE_S), (0.0, PATIENCE_S))


class _Unjudged(Here):
    """Takes every answer as accepted, unread."""

    async def run(self, whose: Whose, make: Callable[[], Callable[[], Any]], *, urgent: bool = False) -> Any:  # noqa: ARG002 - the interface's
        """Return what says so."""
        return Judged(Rejection(whose.task_id, whose.hotkey, "primary", Reason.ACCEPTED, 0.0), Reason.ACCEPTED)


class _Timing(HttpMinerClient):
    """Notes the slowest answer."""

    slowest = 0.0

    async def post(self, call: Call, sent: Sent | None = None) -> Reply:
        """Send `call`, as it does."""
        reply = await super().post(call, sent)
        self.slowest = max(self.slowest, reply.seconds or 0.0)
        return reply


async def dispatched(many: int, url: str | None = None) -> Turn:
    """Send a round with so many dispatches, in steps of five, over its own store or the one at `url`."""
    with unlogged(), tempfile.TemporaryDirectory(prefix="dispatched") as folder:
        async with open_store(url or f"sqlite:///{folder}/store.sqlite", create=True, writer=True) as store:
            prepared = await _opened(store, many)
            client = _Timing(SIGNER, max_open=many, connect_timeout_s=PATIENCE_S, allow_private=True)
            gates = Gatekeeper(_Unjudged(), store)

            async def whole() -> float:
                returned = await Dispatcher(client, store, SystemClock(), gates, {}).dispatch(prepared)
                if sum(one.reason == Reason.ACCEPTED for one in returned.judged.values()) != many:
                    raise RuntimeError(f"not every answer arrived: {returned.reasons}")
                return client.slowest

            try:
                turn = await timed([whole()], of=many)
            finally:
                await client.close()
            await _require_stored(store, prepared, many)
            return turn


async def _opened(store: Store, many: int) -> Prepared:
    """Store a round of so many dispatches, whose tasks all have different bundles."""
    crowd, _, _ = crowded(_MINERS, version(CURRENT), new=True)
    numbers = range(many // _MEMBERS)
    bundles = [random.Random(number).randbytes(_BUNDLE) for number in numbers]
    tasks = tuple(_task(number, bundle) for number, bundle in zip(numbers, bundles, strict=True))
    neurons = tuple(
        Neuron(neuron.hotkey, neuron.uid, 1.0, False, axon)
        for neuron, axon in zip(crowd.snapshot.neurons, itertools.cycle(axons()), strict=False)
    )
    frozen = replace(crowd, round_id="0", snapshot=replace(crowd.snapshot, neurons=neurons), tasks=tasks)
    plan = RoundPlan("0", tuple(_group(frozen, number) for number in numbers))
    async with store.begin() as tx:
        await tx.rounds.open(frozen, plan, SystemClock().now())
    return Prepared(frozen, plan, {task.task_id: bundle for task, bundle in zip(tasks, bundles, strict=True)})


def _task(number: int, bundle: bytes) -> AssessmentTask:
    digest = sha256_hex(bundle)
    return AssessmentTask(
        f"{number:032x}", SkillType.DECLARATIVE, number, digest, digest, digest, _WINDOWS, "none", None, None, ()
    )


def _group(frozen: RoundInput, number: int) -> GroupPlan:
    members = [frozen.miners[(number * _MEMBERS + place) % _MINERS].hotkey for place in range(_MEMBERS)]
    task_id = frozen.tasks[number].task_id
    return GroupPlan(task_id, "full", tuple(members[:_PRIMARIES]), tuple(members[_PRIMARIES:]), (), (), {})


async def _require_stored(store: Store, prepared: Prepared, many: int) -> None:
    async with store.read() as tx:
        stored = await tx.dispatches.of_round(prepared.frozen.index)
        last = await tx.dispatches.answer_body(stored[-1].key)
    if sum(one.state == "answered" and one.body_bytes is not None for one in stored) != many or not last:
        raise RuntimeError("not every answer is stored")
