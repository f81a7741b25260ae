"""Facts of one task of a settled round that every explanation starts from: group, gates, stored result."""

from collections.abc import Callable, Collection, Sequence
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from validator.kinds.explained.selection import Selection, explain_selection
from validator.protocol.answer import Role
from validator.protocol.dispatch_record import Dispatch, TaskState
from validator.protocol.reasons import GATE_NAMES, Reason, gate_of, meaning_of
from validator.protocol.results import RoundResults
from validator.protocol.round import GroupOutcome, MemberOutcome, RoundInput, RoundTask
from validator.protocol.skill_types import SkillType
from validator.protocol.sssa import Document
from validator.protocol.task import Window
from validator.protocol.waiting_work import CodeCheck
from validator.scoring import FindingKeys, PlannedTask, Version

T = TypeVar("T", bound=RoundTask)


class Part(Document, frozen=True):
    """One part of a weighted sum: `contribution` is weight times value."""

    name: str
    weight: float
    value: float
    contribution: float
    why: str


class TaskFacts(NamedTuple, Generic[T]):
    """One task: its group as planned and as it came out, and everything that came back.

    Attributes:
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
        """Return whether scoring the task again reproduces the stored result of `hotkey`."""
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
        dispatch: as it is, with the reason of the gates.
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


def way_through(reason: Reason | None, applying: Collection[int]) -> tuple[Gate, ...]:
    """Return gates 1 to 6 as an answer met them that ended with `reason`; it goes through those of `applying`."""
    passed = reason in (Reason.ACCEPTED, Reason.ACCEPTED_EARLY)
    failed = gate_of(reason)
    return tuple(
        Gate(number, name, _result(number, failed, passed=passed, applies=number in applying))
        for number, name in enumerate(GATE_NAMES[:-1], 1)
    )


def _entry_reason(scored: MemberOutcome | None, dispatch: Dispatch | None) -> Reason | None:
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


class TaskExplanation(Document, frozen=True, tag_field="kind"):
    """One task for which the miner was a candidate; the page of each kind adds its own.

    Attributes:
        reason, meaning: how the task ended; None meaning for a code that this version does not know.
        gates: its dispatch, None if it was not a member.
        entry: what entered its score window; None where nothing did.
        entry_reason, entry_meaning: what that entry, or its absence, comes from.
        as_stored: whether scoring the task again gave exactly what is stored of this miner.
    """

    task_id: str
    position: int
    skill_type: SkillType
    slot: int
    state: TaskState
    reason: Reason | None
    meaning: str | None
    selection: Selection
    gates: Gates | None
    entry: float | None
    entry_reason: Reason | None
    entry_meaning: str | None
    as_stored: bool


def explain_task(
    frozen: RoundInput,
    facts: TaskFacts[T],
    hotkey: str,
    applying: Callable[[T, Role], Collection[int]],
    semantic_subset: float | None = None,
) -> dict[str, Any] | None:
    """Return the fields of `TaskExplanation`, None if `hotkey` was no candidate.

    Args:
        frozen: the round's input.
        facts: the task's.
        hotkey: whose explanation it is.
        applying: numbers of the gates that an answer to the task goes through, by role.
        semantic_subset: gate 7; None where it does not apply, or the answer did not pass.
    """
    selection = explain_selection(facts.version, frozen, facts.planned, hotkey)
    if selection is None:
        return None
    task, scored = facts.task, facts.member(hotkey)
    dispatch = next((one for one in facts.dispatches if one.hotkey == hotkey), None)
    gates = None
    if dispatch is not None:
        way = way_through(dispatch.reason, applying(task, dispatch.role))
        gates = Gates(dispatch, task.windows.of(dispatch.role), way, semantic_subset)
    caused = _entry_reason(scored, dispatch)
    return {
        "task_id": task.task_id,
        "position": facts.position,
        "skill_type": task.skill_type,
        "slot": task.slot,
        "state": facts.state,
        "reason": facts.outcome.reason,
        "meaning": meaning_of(facts.outcome.reason),
        "selection": selection,
        "gates": gates,
        "entry": scored.window_entry if scored else None,
        "entry_reason": caused,
        "entry_meaning": meaning_of(caused),
        "as_stored": facts.as_stored(frozen, hotkey),
    }
