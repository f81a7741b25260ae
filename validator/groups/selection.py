"""Who gets one task: exclusion, rank, rotation, auditors (SPEC 8)."""

from collections.abc import Sequence
from typing import Annotated, Final

from msgspec import Meta

from validator.groups.draws import draw
from validator.protocol.answer import Role
from validator.protocol.limits import MAX_SAFE_INTEGER
from validator.protocol.reasons import Reason
from validator.protocol.round import GroupPlan, Mode
from validator.protocol.scoring_version import (
    AUDITOR_SLOTS,
    EJECTING_FLAGS,
    MAX_FAILURE_RATE,
    MIN_FAILURE_SAMPLES,
    MIN_REPUTATION,
    PRIMARY_SLOTS,
    ROTATION_STREAK,
)
from validator.protocol.sssa import Document, Unit

Count = Annotated[int, Meta(ge=0, le=MAX_SAFE_INTEGER)]
_MODES: Final[dict[int, Mode]] = {0: "skip", 1: "quality_only", 2: "quality_only", 3: "degraded_3", 4: "degraded_4"}


class Candidate(Document, frozen=True):
    """A registered miner that declared the type, as of this task.

    Attributes:
        hotkey: its key.
        reputation: for the type.
        collusion_flags: standing ones, over all types.
        in_flight: open dispatches of the type, earlier tasks of this round included.
        max_concurrent: how many of them it takes, 1 to 4.
        dispatches, failures: of the type in the last 30 rounds.
        recent_roles: for the type, one per round in which it was assigned, newest first.
    """

    hotkey: str
    reputation: Unit
    collusion_flags: Count
    in_flight: Count
    max_concurrent: Annotated[int, Meta(ge=1, le=4)]
    dispatches: Count
    failures: Count
    recent_roles: tuple[Role, ...]


def exclusion_reason(candidate: Candidate) -> Reason | None:
    """Return the first reason that keeps the candidate out, None if it may be selected (SPEC 8.1)."""
    if candidate.collusion_flags >= EJECTING_FLAGS:
        return Reason.COLLUSION_FLAGS
    if candidate.reputation < MIN_REPUTATION:
        return Reason.LOW_REPUTATION
    if candidate.in_flight >= candidate.max_concurrent:
        return Reason.IN_FLIGHT
    if candidate.dispatches >= MIN_FAILURE_SAMPLES and candidate.failures / candidate.dispatches > MAX_FAILURE_RATE:
        return Reason.FAILURE_RATE
    return None


def auditor_streak(candidate: Candidate) -> int:
    """Return the length of the run of auditor assignments that ends now (SPEC 8.4)."""
    roles = candidate.recent_roles
    return next((i for i, role in enumerate(roles) if role != "auditor"), len(roles))


def select_group(candidates: Sequence[Candidate], seed: bytes, round_id: str, task_id: str) -> GroupPlan:
    """Return the task's group; the order of `candidates` does not matter (SPEC 8)."""
    reasons = {c.hotkey: exclusion_reason(c) for c in candidates}
    pool = [c for c in candidates if reasons[c.hotkey] is None]
    ranked = sorted(pool, key=lambda c: (-c.reputation, draw(seed, "rank", round_id, task_id, c.hotkey)))
    primaries, promoted, demoted = _rotate(ranked)
    chosen = {c.hotkey for c in primaries}
    rest = [c.hotkey for c in ranked if c.hotkey not in chosen]
    auditors = sorted(rest, key=lambda hotkey: draw(seed, "auditor", round_id, task_id, hotkey))[:AUDITOR_SLOTS]
    return GroupPlan(
        task_id=task_id,
        mode=_MODES.get(len(pool), "full"),
        primaries=tuple(c.hotkey for c in ranked if c.hotkey in chosen),
        auditors=tuple(auditors),
        promoted=tuple(c.hotkey for c in promoted),
        demoted=tuple(c.hotkey for c in demoted),
        excluded={hotkey: str(reason) for hotkey, reason in sorted(reasons.items()) if reason is not None},
    )


def _rotate(ranked: Sequence[Candidate]) -> tuple[list[Candidate], list[Candidate], list[Candidate]]:
    """Return the primaries, the promoted and the demoted: auditors that are due push out the lowest-ranked (D-17)."""
    primaries = list(ranked[:PRIMARY_SLOTS])
    due = [c for c in ranked[PRIMARY_SLOTS:] if auditor_streak(c) >= ROTATION_STREAK]
    promoted = sorted(due, key=auditor_streak, reverse=True)[:PRIMARY_SLOTS]  # a stable sort keeps rank among equals
    demoted = [primaries.pop() for _ in promoted]
    return primaries + promoted, promoted, demoted
