"""Who gets one task: exclusion, rank, rotation, auditors (SPEC 8)."""

from collections.abc import Sequence
from typing import Annotated, Final, NamedTuple

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


class Ranked(NamedTuple):
    """A candidate that may be selected; its rank is its place in the order."""

    candidate: Candidate
    draw: bytes


class Drawn(NamedTuple):
    """A ranked candidate that is no primary, with its auditor draw."""

    hotkey: str
    draw: bytes


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
    ranked = [one.candidate for one in rank_candidates(candidates, seed, round_id, task_id)]
    primaries, promoted, demoted = _rotate(ranked)
    chosen = {c.hotkey for c in primaries}
    rest = [c.hotkey for c in ranked if c.hotkey not in chosen]
    auditors = [one.hotkey for one in draw_auditors(rest, seed, round_id, task_id)[:AUDITOR_SLOTS]]
    return GroupPlan(
        task_id=task_id,
        mode=_MODES.get(len(ranked), "full"),
        primaries=tuple(c.hotkey for c in ranked if c.hotkey in chosen),
        auditors=tuple(auditors),
        promoted=tuple(c.hotkey for c in promoted),
        demoted=tuple(c.hotkey for c in demoted),
        excluded={hotkey: str(reason) for hotkey, reason in sorted(reasons.items()) if reason is not None},
    )


def rank_candidates(candidates: Sequence[Candidate], seed: bytes, round_id: str, task_id: str) -> list[Ranked]:
    """Return those that may be selected: reputation descending, ties by rank draw ascending (SPEC 8.2)."""
    pool = [c for c in candidates if exclusion_reason(c) is None]
    drawn = [Ranked(c, draw(seed, "rank", round_id, task_id, c.hotkey)) for c in pool]
    return sorted(drawn, key=lambda one: (-one.candidate.reputation, one.draw))


def draw_auditors(rest: Sequence[str], seed: bytes, round_id: str, task_id: str) -> list[Drawn]:
    """Return those that are no primaries by auditor draw, ascending; the first two are the auditors (SPEC 8.5)."""
    drawn = [Drawn(hotkey, draw(seed, "auditor", round_id, task_id, hotkey)) for hotkey in rest]
    return sorted(drawn, key=lambda one: one.draw)


def _rotate(ranked: Sequence[Candidate]) -> tuple[list[Candidate], list[Candidate], list[Candidate]]:
    """Return the primaries, the promoted and the demoted: auditors that are due push out the lowest-ranked (D-17)."""
    primaries = list(ranked[:PRIMARY_SLOTS])
    due = [c for c in ranked[PRIMARY_SLOTS:] if auditor_streak(c) >= ROTATION_STREAK]
    promoted = sorted(due, key=auditor_streak, reverse=True)[:PRIMARY_SLOTS]  # a stable sort keeps rank among equals
    demoted = [primaries.pop() for _ in promoted]
    return primaries + promoted, promoted, demoted
