"""What a dispatch is sent as, stored under and logged as."""

from collections.abc import Mapping

import structlog

from validator.kinds.interface import Request
from validator.kinds.judging import Expected
from validator.kinds.registry import kind_of
from validator.outgoing.calls import Call, Reply
from validator.protocol.answer import Role
from validator.protocol.reasons import Reason
from validator.protocol.round import RoundInput, RoundTask
from validator.rounds.facts import PASSED
from validator.rounds.prepare import Prepared
from validator.store.dispatch import DispatchKey
from validator.telemetry import Event

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


def call_of(frozen: RoundInput, expected: Expected[RoundTask], request: Request) -> Call:
    """Return the call that is the dispatch."""
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
