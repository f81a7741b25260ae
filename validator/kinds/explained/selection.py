"""Explanation of selection: why a candidate got its place in a task's group, by the numbers compared (SPEC 8)."""

from typing import Final, Literal

import msgspec

from validator.protocol.draws import draws_of
from validator.protocol.reasons import Reason, meaning_of
from validator.protocol.round import RoundInput
from validator.protocol.sssa import Document
from validator.protocol.text import count, plain, short
from validator.scoring import (
    AnyCandidate,
    Candidate,
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
    """Return the first 16 hex of a draw: enough to compare by eye, and to check once the salt is out (D-8)."""
    return draw[:_DRAW].hex()


Place = Literal["primary_by_rank", "primary_by_rotation", "auditor_by_draw", "not_drawn", "excluded"]


class Selection(Document, frozen=True):
    """A candidate's way through selection.

    Attributes:
        place: what it came to; `why` says it in a sentence, with the numbers.
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
            instead = f", in place of {short(facts.pushed_out)}" if facts.pushed_out else ""
            return (
                f"rank {facts.rank} of {facts.pool}, and an auditor in each of the last "
                f"{count(facts.auditor_streak, 'round')} of the type: promoted by rotation{instead}"
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
            return f"in flight {own.in_flight} ≥ {own.max_concurrent}, which is what it said it takes at once"
        case _:
            return (
                f"failures {own.failures} of {own.dispatches} = {own.failures / own.dispatches:.2f} > "
                f"{plain(rules.groups.max_failure_rate)} in the last {rules.groups.history_rounds} rounds"
            )
