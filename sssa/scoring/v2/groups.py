"""Turns and groups: every miner gets about as many tasks (SPEC 17, D-34, D-35)."""

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter

from sssa.protocol.draws import draws_of
from sssa.protocol.round import GroupPlan
from sssa.protocol.tallies import NO_PRESENCE, Presence
from sssa.scoring.scoring_types import LastTurn, TurnCandidate
from sssa.scoring.v1.groups import MODES, exclusion_reason, first_of
from sssa.scoring.v2.rules import Ruled20

AUDITORS = {5: 2, 4: 1}  # of a group of so many; of fewer, none


def next_turns(
    version: Ruled20, previous: Mapping[str, LastTurn], candidates: Iterable[str]
) -> dict[str, tuple[int, Presence]]:
    """Return turn and presence of every candidate of a type, as the round to come freezes them (D-34, D-48).

    Candidates that stayed keep their count. Every other one has at least the lower median of theirs; the turns that it
    is lifted by were its own, unless it is new or was away for long.
    """
    last = {hotkey: previous.get(hotkey) for hotkey in candidates}
    stayed = sorted(one.now for one in last.values() if one is not None and one.stayed)
    median = stayed[(len(stayed) - 1) // 2] if stayed else 0
    turns: dict[str, tuple[int, Presence]] = {}
    for hotkey, one in last.items():
        if one is None:
            turns[hotkey] = median, NO_PRESENCE
            continue
        lift = 0 if one.stayed else max(0, median - one.now)
        counted = lift if one.absent <= version.rules.presence.absent else 0
        turns[hotkey] = one.now + lift, Presence(one.presence.asked + counted, one.presence.answered)
    return turns


def select_group(
    version: Ruled20, candidates: Sequence[TurnCandidate], seed: bytes, round_id: str, task_id: str
) -> GroupPlan:
    """Return the task's group; the order of `candidates` does not matter (D-35)."""
    rules = version.rules.groups
    reasons = {one.hotkey: exclusion_reason(version, one) for one in candidates}
    pool = [one for one in candidates if reasons[one.hotkey] is None]
    most = rules.primaries + rules.auditors
    ordered = first_of(most, pool, attrgetter("turn", "total"), draws_of(seed, "rank", round_id, task_id))
    members = sorted((one.hotkey for one in ordered), key=draws_of(seed, "auditor", round_id, task_id))
    auditors = AUDITORS.get(len(members), 0)
    return GroupPlan(
        task_id=task_id,
        mode=MODES.get(len(pool), "full"),
        primaries=tuple(members[auditors:]),
        auditors=tuple(members[:auditors]),
        promoted=(),
        demoted=(),
        excluded={hotkey: reason for hotkey, reason in sorted(reasons.items()) if reason is not None},
    )


def rank_key(version: Ruled20, candidate: TurnCandidate) -> tuple[float, ...]:  # noqa: ARG001 - called as a method
    """Return what candidates are ordered by before their draws: the least served first."""
    return candidate.turn, candidate.total
