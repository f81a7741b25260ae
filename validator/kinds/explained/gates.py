"""How one dispatch went through the gates (SPEC 5)."""

from collections.abc import Collection
from typing import Literal, NamedTuple

from validator.protocol.reasons import GATE_NAMES, Reason, gate_of
from validator.protocol.round import MemberOutcome, RoundTask
from validator.protocol.task import Window
from validator.store.dispatch import Dispatch

GateResult = Literal["passed", "failed", "not_reached", "not_applicable"]


class Gate(NamedTuple):
    """One of gates 1 to 6."""

    number: int
    name: str
    result: GateResult


class Gates(NamedTuple):
    """A dispatch on its way.

    Attributes:
        dispatch: as it stands, with the reason of the gates.
        window: of its role.
        gates: 1 to 6 in order.
        semantic_subset: gate 7; None where it does not apply (D-21).
    """

    dispatch: Dispatch
    window: Window
    gates: tuple[Gate, ...]
    semantic_subset: float | None

    @property
    def part(self) -> float | None:
        """F of SPEC 6: where in the window the answer came; below 0 it was early, None where nothing was sent."""
        seconds = self.dispatch.seconds
        return None if seconds is None else self.window.part(seconds)


def explain_gates(
    task: RoundTask, dispatch: Dispatch, applying: Collection[int], semantic_subset: float | None = None
) -> Gates:
    """Return the dispatch's way.

    Args:
        task: what it was for.
        dispatch: as it stands.
        applying: numbers of the gates that an answer of this kind, type and role goes through.
        semantic_subset: gate 7; None where it does not apply, or the answer did not pass.
    """
    gates = way_through(dispatch.reason, applying)
    return Gates(dispatch, task.windows.of(dispatch.role), gates, semantic_subset)


def way_through(reason: Reason | None, applying: Collection[int]) -> tuple[Gate, ...]:
    """Return gates 1 to 6 as an answer met them that ended with `reason`; `applying` as for `explain_gates`."""
    passed = reason in (Reason.ACCEPTED, Reason.ACCEPTED_EARLY)
    failed = gate_of(reason)
    return tuple(
        Gate(number, name, _result(number, failed, passed=passed, applies=number in applying))
        for number, name in enumerate(GATE_NAMES[:-1], 1)
    )


def entry_reason(scored: MemberOutcome | None, dispatch: Dispatch | None) -> Reason | None:
    """Return what a member's entry in its score window, or the absence of one, comes from; None for no member."""
    if scored is not None:
        return scored.reason
    return dispatch.reason if dispatch is not None and dispatch.void_alone else None


def _result(number: int, failed: int | None, *, passed: bool, applies: bool) -> GateResult:
    if number == failed:
        return "failed"
    if not passed and (failed is None or number > failed):
        return "not_reached"
    return "passed" if applies else "not_applicable"
