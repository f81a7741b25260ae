"""Explanation common to all kinds of task: why a candidate got its place, its way through the gates (SPEC 5, 8)."""

from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, Generic, Literal, NamedTuple, TypeVar

import msgspec

from sssa.protocol.answer import Role
from sssa.protocol.dispatch_record import Dispatch, TaskState
from sssa.protocol.draws import draws_of
from sssa.protocol.reasons import GATE_NAMES, Reason, gate_of, meaning_of
from sssa.protocol.results import RoundResults
from sssa.protocol.round import GroupOutcome, MemberOutcome, RoundInput, RoundTask
from sssa.protocol.skill_types import SkillType
from sssa.protocol.sssa import Document
from sssa.protocol.task import Window
from sssa.protocol.text import count, plain, short
from sssa.protocol.waiting_work import CodeCheck
from sssa.scoring import (
    AnyCandidate,
    Candidate,
    FindingKeys,
    PlannedTask,
    Rules,
    TurnCandidate,
    Version,
    auditor_streak,
    exclusion_reason,
    rank_candidates,
)

_DRAW: Final = 8


def draw_prefix(draw: bytes) -> str:
    """Return the first 16 hex of a draw: enough for a person to compare, and to check once the salt is out (D-8)."""
    return draw[:_DRAW].hex()


Place = Literal["primary_by_rank", "primary_by_rotation", "auditor_by_draw", "not_drawn", "excluded"]


class Selection(Document, frozen=True):
    """A candidate's way through selection.

    Attributes:
        place: the result; `why` gives it in a sentence, with the numbers.
        reputation: for the type, before the round.
        flags: standing collusion flags, over all types.
        in_flight: open dispatches of the type, earlier tasks of the round included; `max_concurrent` it takes.
        dispatches, failures: of the type in the last 30 rounds.
        auditor_streak: rounds in a row in which it was an auditor for the type.
        candidates: how many there were; `pool` of them not excluded.
        rank: from 1, in the pool; None if excluded. `tied` others have the same reputation.
        rank_draw, auditor_draw: first 16 hex; None where none was made.
        auditor_place: from 1, among the `auditor_pool` that are no primaries.
        pushed_out: whom rotation pushed out for it; `pushed_by`: for whom it was pushed out.
        excluded: reason code; None for the pool.
    """

    place: Place
    why: str
    reputation: float
    flags: int
    in_flight: int
    max_concurrent: int
    dispatches: int
    failures: int
    auditor_streak: int
    candidates: int
    pool: int
    rank: int | None
    tied: int
    rank_draw: str | None
    auditor_place: int | None
    auditor_pool: int
    auditor_draw: str | None
    pushed_out: str | None
    pushed_by: str | None
    excluded: Reason | None
    meaning: str | None


def explain_selection(version: Version, frozen: RoundInput, planned: PlannedTask, hotkey: str) -> Selection | None:
    """Return why `hotkey` got its place, None if it was no candidate for the task."""
    own = next((c for c in planned.candidates if c.hotkey == hotkey), None)
    if own is None:
        return None
    key = (bytes.fromhex(frozen.seed), frozen.round_id, planned.task.task_id)
    ranked = rank_candidates(version, planned.candidates, *key)
    group = planned.group
    by_turn = isinstance(own, TurnCandidate)
    rest = [r.candidate.hotkey for r in ranked if r.candidate.hotkey not in group.primaries]
    auditor_draw = draws_of(key[0], "auditor", *key[1:])
    drawn = sorted((auditor_draw(one), one) for one in ([one for one, _ in group.members] if by_turn else rest))
    rank = next((i for i, r in enumerate(ranked, 1) if r.candidate.hotkey == hotkey), None)
    place = next((i for i, (_, one) in enumerate(drawn, 1) if one == hotkey), None)
    pairs = tuple(zip(group.promoted, group.demoted, strict=True))
    excluded = exclusion_reason(version, own)
    facts = Selection(
        place=_place(hotkey, planned, excluded),
        why="",
        reputation=own.reputation,
        flags=own.collusion_flags,
        in_flight=own.in_flight,
        max_concurrent=own.max_concurrent,
        dispatches=own.dispatches,
        failures=own.failures,
        auditor_streak=auditor_streak(own) if isinstance(own, Candidate) else 0,
        candidates=len(planned.candidates),
        pool=len(ranked),
        rank=rank,
        tied=sum(version.rank_key(r.candidate) == version.rank_key(own) for r in ranked) - 1 if rank else 0,
        rank_draw=draw_prefix(ranked[rank - 1].draw) if rank else None,
        auditor_place=place,
        auditor_pool=len(drawn),
        auditor_draw=draw_prefix(drawn[place - 1][0]) if place else None,
        pushed_out=next((out for up, out in pairs if up == hotkey), None),
        pushed_by=next((up for up, out in pairs if out == hotkey), None),
        excluded=excluded,
        meaning=meaning_of(excluded),
    )
    return _with_why(version.rules, facts, own, excluded)


def _place(hotkey: str, planned: PlannedTask, excluded: Reason | None) -> Place:
    if excluded is not None:
        return "excluded"
    if hotkey in planned.group.promoted:
        return "primary_by_rotation"
    if hotkey in planned.group.primaries:
        return "primary_by_rank"
    return "auditor_by_draw" if hotkey in planned.group.auditors else "not_drawn"


def _with_why(rules: Rules, facts: Selection, own: AnyCandidate, excluded: Reason | None) -> Selection:
    if excluded is not None:
        why = _excluded(rules, own, excluded)
    else:
        why = _served(facts, own) if isinstance(own, TurnCandidate) else _chosen(rules, facts)
    return msgspec.structs.replace(facts, why=why)


def _served(facts: Selection, own: TurnCandidate) -> str:
    counted = f"turn {own.turn} of the type, {own.total} of all: place {facts.rank} of {facts.pool}"
    if facts.place == "not_drawn":
        return f"{counted}; the first ones, or pairs that were to meet, are the group"
    of_group = f"auditor draw {facts.auditor_place} of the {facts.auditor_pool} in the group"
    return f"{counted}; {of_group} made it {'a primary' if facts.place == 'primary_by_rank' else 'an auditor'}"


def _chosen(rules: Rules, facts: Selection) -> str:
    match facts.place:
        case "primary_by_rank":
            return f"rank {facts.rank} of {facts.pool}: the first {rules.groups.primaries} are primaries"
        case "primary_by_rotation":
            replaced = f", in place of {short(facts.pushed_out)}" if facts.pushed_out else ""
            return (
                f"rank {facts.rank} of {facts.pool}, and an auditor in each of the last "
                f"{count(facts.auditor_streak, 'round')} of the type: promoted by rotation{replaced}"
            )
    pushed = f", pushed out by rotation for {short(facts.pushed_by)}" if facts.pushed_by else ""
    return (
        f"rank {facts.rank} of {facts.pool}{pushed}; auditor draw {facts.auditor_place} of {facts.auditor_pool}: "
        f"the first {rules.groups.auditors} are auditors"
    )


def _excluded(rules: Rules, own: AnyCandidate, reason: Reason) -> str:
    match reason:
        case Reason.COLLUSION_FLAGS:
            return f"{count(own.collusion_flags, 'collusion flag')} ≥ {rules.groups.ejecting_flags}"
        case Reason.LOW_REPUTATION:
            return f"reputation {own.reputation:.4f} < {plain(rules.reputation.floor)}"
        case Reason.IN_FLIGHT:
            return f"in flight {own.in_flight} ≥ {own.max_concurrent}, the most that it declared to take at once"
        case _:
            return (
                f"failures {own.failures} of {own.dispatches} = {own.failures / own.dispatches:.2f} > "
                f"{plain(rules.groups.max_failure_rate)} in the last {rules.groups.history_rounds} rounds"
            )


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
        """Return the outcome of `hotkey`, None if it was no member, or the task is void."""
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
    """Return the results of gates 1 to 6 for an answer that ended with `reason`; only those in `applying` apply."""
    passed = reason in (Reason.ACCEPTED, Reason.ACCEPTED_EARLY)
    failed = gate_of(reason)
    return tuple(
        Gate(number, name, _result(number, failed, passed=passed, applies=number in applying))
        for number, name in enumerate(GATE_NAMES[:-1], 1)
    )


def _entry_reason(scored: MemberOutcome | None, dispatch: Dispatch | None) -> Reason | None:
    """Return the reason for a member's entry in its score window, or for its absence; None for no member."""
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
        outcome: of the group; None for a void or skipped task.
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
    outcome: GroupOutcome | None


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
        "outcome": facts.outcome if facts.state == "settled" else None,
    }
