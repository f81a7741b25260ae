"""Selection of a task's group: exclusion, rank, rotation, auditors (SPEC 8)."""

from collections.abc import Callable, Sequence
from heapq import nsmallest
from itertools import groupby, takewhile
from operator import itemgetter
from typing import Any, Final, TypeVar

from sssa.protocol.draws import draws_of
from sssa.protocol.reasons import Reason
from sssa.protocol.round import GroupPlan, Mode
from sssa.scoring.scoring_types import AnyCandidate, Candidate, Ranked
from sssa.scoring.v1.rules import GroupRules, Ruled
from sssa.scoring.v1.version_calls import Ranking

C = TypeVar("C", bound=AnyCandidate)
Draw = Callable[[str], bytes]
MODES: Final[dict[int, Mode]] = {0: "skip", 1: "quality_only", 2: "quality_only", 3: "degraded_3", 4: "degraded_4"}


def exclusion_reason(version: Ruled, candidate: AnyCandidate) -> Reason | None:
    """Return the first reason that keeps the candidate out, None if it may be selected (SPEC 8.1)."""
    rules = version.rules.groups
    if candidate.collusion_flags >= rules.ejecting_flags:
        return Reason.COLLUSION_FLAGS
    if candidate.reputation < version.rules.reputation.floor:
        return Reason.LOW_REPUTATION
    if candidate.in_flight >= candidate.max_concurrent:
        return Reason.IN_FLIGHT
    return Reason.FAILURE_RATE if fails_too_often(version, candidate.dispatches, candidate.failures) else None


def fails_too_often(version: Ruled, dispatches: int, failures: int) -> bool:
    """Return whether the failures among recent dispatches exclude a miner (SPEC 8.1)."""
    rules = version.rules.groups
    return dispatches >= rules.min_failure_samples and failures / dispatches > rules.max_failure_rate


def auditor_streak(candidate: Candidate) -> int:
    """Return the length of the run of auditor assignments that ends now (SPEC 8.4)."""
    roles = candidate.recent_roles
    return next((i for i, role in enumerate(roles) if role != "auditor"), len(roles))


def select_group(
    version: Ruled, candidates: Sequence[Candidate], seed: bytes, round_id: str, task_id: str
) -> GroupPlan:
    """Return the task's group; the order of `candidates` does not matter (SPEC 8)."""
    rules = version.rules.groups
    reasons = [exclusion_reason(version, c) for c in candidates]
    pool = [c for c, reason in zip(candidates, reasons, strict=True) if reason is None]
    rank_draw = draws_of(seed, "rank", round_id, task_id)
    primaries, promoted, demoted = _rotate(rules, pool, rank_draw)
    chosen = {c.hotkey for c in primaries}
    auditor_draw = draws_of(seed, "auditor", round_id, task_id)
    drawn = [(auditor_draw(c.hotkey), c.hotkey) for c in pool if c.hotkey not in chosen]
    return GroupPlan(
        task_id=task_id,
        mode=MODES.get(len(pool), "full"),
        primaries=tuple(c.hotkey for c in first_of(len(primaries), primaries, _rank, rank_draw)),
        auditors=tuple(hotkey for _, hotkey in nsmallest(rules.auditors, drawn)),
        promoted=tuple(c.hotkey for c in promoted),
        demoted=tuple(c.hotkey for c in demoted),
        excluded=dict(sorted((c.hotkey, r) for c, r in zip(candidates, reasons, strict=True) if r is not None)),
    )


def rank_candidates(
    version: Ranking, candidates: Sequence[AnyCandidate], seed: bytes, round_id: str, task_id: str
) -> list[Ranked]:
    """Return those that may be selected in the version's order, ties by rank draw ascending (SPEC 8.2)."""
    rank_draw = draws_of(seed, "rank", round_id, task_id)
    drawn = [Ranked(c, rank_draw(c.hotkey)) for c in candidates if exclusion_reason(version, c) is None]
    return sorted(drawn, key=lambda one: (*version.rank_key(one.candidate), one.draw))


def rank_key(version: Ruled, candidate: AnyCandidate) -> tuple[float, ...]:  # noqa: ARG001 - 2.0.0 ranks by turns
    """Return what candidates are ordered by before their draws: reputation, descending."""
    return (-candidate.reputation,)


def _rotate(
    rules: GroupRules, pool: Sequence[Candidate], rank_draw: Draw
) -> tuple[list[Candidate], list[Candidate], list[Candidate]]:
    """Return the primaries, the promoted and the demoted: auditors that are due push out the lowest-ranked (D-17)."""
    primaries = first_of(rules.primaries, pool, _rank, rank_draw)
    top = {c.hotkey for c in primaries}
    run = ("auditor",) * rules.rotation_streak
    due = [c for c in pool if c.recent_roles[: len(run)] == run and c.hotkey not in top]
    promoted = first_of(rules.primaries, due, lambda c: (-auditor_streak(c), -c.reputation), rank_draw)
    demoted = [primaries.pop() for _ in promoted]
    return primaries + promoted, promoted, demoted


def _rank(candidate: Candidate) -> float:
    return -candidate.reputation


def first_of(most: int, pool: Sequence[C], key: Callable[[C], Any], rank_draw: Draw) -> list[C]:
    """Return the `most` smallest by `key`, ties by rank draw; nothing is drawn where no tie needs it."""
    ordered = sorted(((key(c), c) for c in pool), key=itemgetter(0))
    if not ordered:
        return []
    last = ordered[min(most, len(ordered)) - 1][0]
    selected: list[C] = []
    for _, same in groupby(takewhile(lambda one: one[0] <= last, ordered), key=itemgetter(0)):
        tied = [c for _, c in same]
        selected += tied if len(tied) == 1 else sorted(tied, key=lambda c: rank_draw(c.hotkey))
    return selected[:most]
