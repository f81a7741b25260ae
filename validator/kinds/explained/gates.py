"""How one dispatch went through the gates (SPEC 5)."""

from collections.abc import Collection
from datetime import datetime
from typing import Literal

from validator.protocol.answer import Role
from validator.protocol.reasons import GATE_NAMES, Reason, gate_of, meaning_of
from validator.protocol.round import RoundTask
from validator.protocol.sssa import Document
from validator.store.records import DispatchRecord, DispatchState

GateResult = Literal["passed", "failed", "not_reached", "not_applicable"]


class Gate(Document, frozen=True):
    """One of gates 1 to 6."""

    number: int
    name: str
    result: GateResult


class Gates(Document, frozen=True):
    """A dispatch and its answer.

    Attributes:
        role: of the member.
        state: of the dispatch; `void` with its task.
        reason, meaning: of the gates; None while it is not judged.
        detail: what exactly was wrong, for people.
        seconds: first byte sent to last byte received; None where nothing was sent.
        t_min, deadline: the role's window in seconds.
        part: f of SPEC 6: where in the window the answer came; below 0 it was early.
        sssa_sha256: of the attestation, or of the plan.
        gates: 1 to 6 in order.
        semantic_subset: gate 7; None where it does not apply (D-21).
    """

    role: Role
    state: DispatchState
    reason: str | None
    meaning: str | None
    detail: str | None
    sent_at: datetime | None
    received_at: datetime | None
    seconds: float | None
    t_min: float
    deadline: float
    part: float | None
    http_status: int | None
    body_bytes: int | None
    sssa_sha256: str | None
    gates: tuple[Gate, ...]
    semantic_subset: float | None


def explain_gates(
    task: RoundTask, record: DispatchRecord, applying: Collection[int], semantic_subset: float | None = None
) -> Gates:
    """Return the dispatch's way.

    Args:
        task: what it was for.
        record: the dispatch.
        applying: numbers of the gates that an answer of this kind, type and role goes through.
        semantic_subset: gate 7; None where it does not apply, or the answer did not pass.
    """
    window = task.windows.of(record.role)
    judged = record.reason in (Reason.ACCEPTED, Reason.ACCEPTED_EARLY)
    return Gates(
        role=record.role,
        state=record.state,
        reason=record.reason,
        meaning=meaning_of(record.reason),
        detail=record.detail,
        sent_at=record.sent_at,
        received_at=record.received_at,
        seconds=record.seconds,
        t_min=window.t_min,
        deadline=window.deadline,
        part=None if record.seconds is None else window.part(record.seconds),
        http_status=record.http_status,
        body_bytes=record.body_bytes,
        sssa_sha256=record.signed_sha256,
        gates=_gates(gate_of(record.reason), passed=judged, applying=applying),
        semantic_subset=semantic_subset,
    )


def _gates(failed: int | None, *, passed: bool, applying: Collection[int]) -> tuple[Gate, ...]:
    return tuple(
        Gate(number, name, _result(number, failed, passed=passed, applies=number in applying))
        for number, name in enumerate(GATE_NAMES[:-1], 1)
    )


def _result(number: int, failed: int | None, *, passed: bool, applies: bool) -> GateResult:
    if number == failed:
        return "failed"
    if not passed and (failed is None or number > failed):
        return "not_reached"
    return "passed" if applies else "not_applicable"
