"""Who gets one task: exclusion, rank, rotation, auditors (SPEC 8)."""

from collections.abc import Sequence
from typing import Final

from validator.protocol.draws import draw
from validator.protocol.reasons import Reason
from validator.protocol.round import GroupPlan, Mode
from validator.scoring.rules import GroupRules, Ruled
from validator.scoring.values import Candidate, Drawn, Ranked

_MODES: Final[dict[int, Mode]] = {0: "skip", 1: "quality_only", 2: "quality_only", 3: "degraded_3", 4: "degraded_4"}


def exclusion_reason(version: Ruled, candidate: Candidate) -> Reason | None:
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
    """Whether so many failures among the dispatches of the last rounds keep a miner out (SPEC 8.1)."""
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
    reasons = {c.hotkey: exclusion_reason(version, c) for c in candidates}
    ranked = [one.candidate for one in rank_candidates(version, candidates, seed, round_id, task_id)]
    primaries, promoted, demoted = _rotate(version.rules.groups, ranked)
    chosen = {c.hotkey for c in primaries}
    rest = [c.hotkey for c in ranked if c.hotkey not in chosen]
    auditors = [one.hotkey for one in draw_auditors(rest, seed, round_id, task_id)[: version.rules.groups.auditors]]
    return GroupPlan(
        task_id=task_id,
        mode=_MODES.get(len(ranked), "full"),
        primaries=tuple(c.hotkey for c in ranked if c.hotkey in chosen),
        auditors=tuple(auditors),
        promoted=tuple(c.hotkey for c in promoted),
        demoted=tuple(c.hotkey for c in demoted),
        excluded={hotkey: reason for hotkey, reason in sorted(reasons.items()) if reason is not None},
    )


def rank_candidates(
    version: Ruled, candidates: Sequence[Candidate], seed: bytes, round_id: str, task_id: str
) -> list[Ranked]:
    """Return those that may be selected: reputation descending, ties by rank draw ascending (SPEC 8.2)."""
    pool = [c for c in candidates if exclusion_reason(version, c) is None]
    drawn = [Ranked(c, draw(seed, "rank", round_id, task_id, c.hotkey)) for c in pool]
    return sorted(drawn, key=lambda one: (-one.candidate.reputation, one.draw))


def draw_auditors(rest: Sequence[str], seed: bytes, round_id: str, task_id: str) -> list[Drawn]:
    """Return those that are no primaries by auditor draw, ascending; the first two are the auditors (SPEC 8.5)."""
    drawn = [Drawn(hotkey, draw(seed, "auditor", round_id, task_id, hotkey)) for hotkey in rest]
    return sorted(drawn, key=lambda one: one.draw)


def _rotate(rules: GroupRules, ranked: Sequence[Candidate]) -> tuple[list[Candidate], list[Candidate], list[Candidate]]:
    """Return the primaries, the promoted and the demoted: auditors that are due push out the lowest-ranked (D-17)."""
    primaries = list(ranked[: rules.primaries])
    due = [c for c in ranked[rules.primaries :] if auditor_streak(c) >= rules.rotation_streak]
    promoted = sorted(due, key=auditor_streak, reverse=True)[: rules.primaries]  # a stable sort keeps rank among equals
    demoted = [primaries.pop() for _ in promoted]
    return primaries + promoted, promoted, demoted
