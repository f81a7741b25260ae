"""Turns, groups and meetings: every miner gets about as many tasks, and suspect pairs meet (SPEC 17, D-34 to D-36)."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import attrgetter

from validator.protocol.draws import draws_of
from validator.protocol.round import GroupPlan
from validator.protocol.tallies import HotkeyPair
from validator.scoring.v1_0.groups import MODES, exclusion_reason, first_of
from validator.scoring.v2_0.rules import MeetingRules, Ruled20
from validator.scoring.values import AnyCandidate, LastTurn, PairValues, Ranked, TurnCandidate

AUDITORS = {5: 2, 4: 1}  # of a group of so many; of fewer, none


def next_turns(previous: Mapping[str, LastTurn], candidates: Iterable[str]) -> dict[str, int]:
    """Return the turn of every candidate of a type in the round to come (D-34).

    Candidates that stayed keep their count. Every other one has at least the lower median of theirs.
    """
    now = {hotkey: previous[hotkey].now if hotkey in previous else 0 for hotkey in candidates}
    stayed = sorted(turn for hotkey, turn in now.items() if hotkey in previous and previous[hotkey].stayed)
    median = stayed[(len(stayed) - 1) // 2] if stayed else 0
    return {
        hotkey: turn if hotkey in previous and previous[hotkey].stayed else max(turn, median)
        for hotkey, turn in now.items()
    }


def meeting_pairs(
    version: Ruled20, round_id: int, candidates: Collection[str], pairs: PairValues
) -> tuple[HotkeyPair, ...]:
    """Return who are to meet in a round, in order: `pairs` have a value above the least, or are proven (D-36)."""
    rules, present = version.rules.meetings, set(candidates)
    here = [(pair, one) for pair, one in pairs.items() if present.issuperset(pair)]
    proven = [
        (one.last_round, pair) for pair, one in here if one.proven and round_id - one.last_round > rules.proven_after
    ]
    suspects = sorted((-one.value, pair) for pair, one in here if not one.proven and one.value > rules.suspect_above)
    return tuple(pair for _, pair in (*sorted(proven)[:1], *suspects[: rules.suspects]))


def select_group(  # noqa: PLR0913 - a frozen pool, its draws, and the pairs that may meet
    version: Ruled20,
    candidates: Sequence[TurnCandidate],
    seed: bytes,
    round_id: str,
    task_id: str,
    *,
    planted: bool,
    pairs: Sequence[HotkeyPair],
) -> GroupPlan:
    """Return the task's group; the order of `candidates` does not matter (D-35, D-36).

    Args:
        version: the round's.
        candidates: of the type, with the dispatches of the round's earlier tasks in their turns and totals.
        seed: of the round.
        round_id: of the round.
        task_id: of the task.
        planted: the task was made here for the round, with a truth that names its faults.
        pairs: that are to meet, without those that an earlier task of the round has used.
    """
    rules = version.rules.groups
    reasons = {one.hotkey: exclusion_reason(version, one) for one in candidates}
    pool = [one for one in candidates if reasons[one.hotkey] is None]
    met = _meeting(version.rules.meetings, pool, pairs) if planted else ()
    chosen = [hotkey for pair in met for hotkey in pair]
    rest = [one for one in pool if one.hotkey not in chosen]
    most = rules.primaries + rules.auditors - len(chosen)
    ordered = first_of(most, rest, _served, draws_of(seed, "rank", round_id, task_id))
    members = sorted([*chosen, *(one.hotkey for one in ordered)], key=draws_of(seed, "auditor", round_id, task_id))
    auditors = AUDITORS.get(len(members), 0)
    return GroupPlan(
        task_id=task_id,
        mode=MODES.get(len(pool), "full"),
        primaries=tuple(members[auditors:]),
        auditors=tuple(members[:auditors]),
        promoted=(),
        demoted=(),
        excluded={hotkey: reason for hotkey, reason in sorted(reasons.items()) if reason is not None},
        met=met,
    )


def rank_candidates(
    version: Ruled20, candidates: Sequence[AnyCandidate], seed: bytes, round_id: str, task_id: str
) -> list[Ranked]:
    """Return those that may be selected, the least served first (D-35)."""
    rank_draw = draws_of(seed, "rank", round_id, task_id)
    pool = [one for one in candidates if exclusion_reason(version, one) is None]
    return sorted(
        (Ranked(one, rank_draw(one.hotkey)) for one in pool), key=lambda one: (*_served(one.candidate), one.draw)
    )


_served = attrgetter("turn", "total")


def _meeting(rules: MeetingRules, pool: Sequence[TurnCandidate], pairs: Iterable[HotkeyPair]) -> tuple[HotkeyPair, ...]:
    """Return the pairs of the list that the group begins with: those whose hotkeys are among the least served."""
    if len(pool) < rules.eligible:
        return ()
    latest = min(one.turn for one in pool) + rules.ahead
    free = {one.hotkey for one in pool if one.turn <= latest}
    met: list[HotkeyPair] = []
    for pair in pairs:
        if len(met) < rules.pairs and free.issuperset(pair):
            met.append(pair)
            free.difference_update(pair)
    return tuple(met)
