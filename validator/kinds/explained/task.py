"""One task of a settled round for its explanation: what is stored of it, its gates, and what every page has."""

from collections.abc import Collection, Sequence
from typing import Generic, Literal, NamedTuple, Protocol, TypeVar

from validator.kinds.explained.selection import Selection
from validator.protocol.reasons import GATE_NAMES, Reason, gate_of
from validator.protocol.results import RoundResults
from validator.protocol.round import GroupOutcome, MemberOutcome, RoundInput, RoundTask
from validator.protocol.skill_types import SkillType
from validator.protocol.task import Window
from validator.scoring import FindingKeys, PlannedTask, Version
from validator.store.dispatch import Dispatch
from validator.store.rows import TaskState
from validator.store.waiting_work import CodeCheck

T = TypeVar("T", bound=RoundTask)


class TaskFacts(NamedTuple, Generic[T]):
    """One task: its group as planned and as it came out, and everything that came back.

    Attributes:
        version: of the round.
        keys: of the findings of the round.
        checks: of the code of its answers, as they are now.
    """

    version: Version
    keys: FindingKeys
    task: T
    position: int
    state: TaskState
    planned: PlannedTask
    outcome: GroupOutcome
    members: Sequence[MemberOutcome]
    dispatches: Sequence[Dispatch]
    results: RoundResults
    checks: Sequence[CodeCheck] = ()

    def member(self, hotkey: str) -> MemberOutcome | None:
        """Return what the task came to for `hotkey`, None if that was no member, or the task is void."""
        return _of(hotkey, self.members)

    def as_stored(self, frozen: RoundInput, hotkey: str) -> bool:
        """Whether scoring the task again gives exactly what is stored of `hotkey`."""
        stored = self.member(hotkey)
        if stored is None:
            return True
        group = self.planned.group
        again = self.version.score_group(frozen, self.planned.task, group, self.results, self.keys)
        return stored == _of(hotkey, again.members)


def _of(hotkey: str, members: Sequence[MemberOutcome]) -> MemberOutcome | None:
    return next((member for member in members if member.hotkey == hotkey), None)


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


class TaskExplanation(Protocol):
    """One task for which the miner was a candidate; in fact a `Document` tagged with its kind."""

    @property
    def task_id(self) -> str:
        """Which task."""

    @property
    def skill_type(self) -> SkillType:
        """Its type."""

    @property
    def slot(self) -> int:
        """Its slot."""

    @property
    def state(self) -> TaskState:
        """What became of it."""

    @property
    def reason(self) -> Reason | None:
        """How it ended."""

    @property
    def meaning(self) -> str | None:
        """That in words; None for a code that this version does not know."""

    @property
    def selection(self) -> Selection:
        """Why the miner was chosen, left out or excluded."""

    @property
    def gates(self) -> Gates | None:
        """Its dispatch; None if it was not a member."""

    @property
    def entry(self) -> float | None:
        """What entered its score window; None where nothing did."""

    @property
    def entry_reason(self) -> Reason | None:
        """What that entry, or its absence, comes from."""

    @property
    def entry_meaning(self) -> str | None:
        """That in words."""

    @property
    def as_stored(self) -> bool:
        """Whether scoring the task again gave exactly what is stored of this miner."""
