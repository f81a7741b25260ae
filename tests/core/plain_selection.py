"""The group selection as SPEC 8 says it, step by step, with every draw made: the expected result of the fast one."""

import hashlib
import hmac
from collections.abc import Sequence

from builders import V1

from sssa.protocol.round import GroupPlan, Mode
from sssa.scoring import Candidate, auditor_streak, exclusion_reason

MODES: dict[int, Mode] = {0: "skip", 1: "quality_only", 2: "quality_only", 3: "degraded_3", 4: "degraded_4"}


def plain_group(candidates: Sequence[Candidate], seed: bytes, round_id: str, task_id: str) -> GroupPlan:
    """The task's group."""

    def draw(label: str, hotkey: str) -> bytes:
        return hmac.digest(seed, f"{label}|{round_id}|{task_id}|{hotkey}".encode(), hashlib.sha256)

    reasons = {c.hotkey: exclusion_reason(V1, c) for c in candidates}
    pool = [c for c in candidates if reasons[c.hotkey] is None]
    ranked = sorted(pool, key=lambda c: (-c.reputation, draw("rank", c.hotkey)))
    primaries = ranked[:3]
    due = [c for c in ranked[3:] if auditor_streak(c) >= 3]
    promoted = sorted(due, key=lambda c: -auditor_streak(c))[:3]
    demoted = [primaries.pop() for _ in promoted]
    chosen = {c.hotkey for c in primaries + promoted}
    rest = sorted((c.hotkey for c in ranked if c.hotkey not in chosen), key=lambda hotkey: draw("auditor", hotkey))
    return GroupPlan(
        task_id=task_id,
        mode=MODES.get(len(ranked), "full"),
        primaries=tuple(c.hotkey for c in ranked if c.hotkey in chosen),
        auditors=tuple(rest[:2]),
        promoted=tuple(c.hotkey for c in promoted),
        demoted=tuple(c.hotkey for c in demoted),
        excluded={hotkey: reason for hotkey, reason in sorted(reasons.items()) if reason is not None},
    )
