"""Properties of the group selection (SPEC 8)."""

import random

from builders import V1
from hypothesis import given
from hypothesis import strategies as st
from strategies import pools

from validator.protocol.draws import draw, round_seed, salt_commitment
from validator.scoring import Candidate, auditor_streak, exclusion_reason

SIZES = {0: (0, 0), 1: (1, 0), 2: (2, 0), 3: (3, 0), 4: (3, 1)}
MODES = {0: "skip", 1: "quality_only", 2: "quality_only", 3: "degraded_3", 4: "degraded_4"}
seeds = st.binary(min_size=32, max_size=32)


@given(pools, seeds)
def test_nobody_is_picked_twice_and_nobody_excluded_is_picked(pool: list[Candidate], seed: bytes) -> None:
    group = V1.select_group(pool, seed, "7", "t1")
    picked = [hotkey for hotkey, _ in group.members]
    assert len(picked) == len(set(picked))
    assert not set(picked) & set(group.excluded)
    assert set(group.excluded) == {c.hotkey for c in pool if exclusion_reason(V1, c)}


@given(pools, seeds)
def test_the_size_of_the_pool_decides_the_size_and_mode_of_the_group(pool: list[Candidate], seed: bytes) -> None:
    group = V1.select_group(pool, seed, "7", "t1")
    eligible = len(pool) - len(group.excluded)
    assert (len(group.primaries), len(group.auditors)) == SIZES.get(eligible, (3, 2))
    assert group.mode == MODES.get(eligible, "full")


@given(pools, seeds, st.randoms(use_true_random=False))
def test_the_order_of_the_pool_never_matters(pool: list[Candidate], seed: bytes, rng: random.Random) -> None:
    shuffled = pool[:]
    rng.shuffle(shuffled)
    assert V1.select_group(pool, seed, "7", "t1") == V1.select_group(shuffled, seed, "7", "t1")


@given(pools, seeds)
def test_whoever_is_due_becomes_primary_unless_three_longer_streaks_do(pool: list[Candidate], seed: bytes) -> None:
    group = V1.select_group(pool, seed, "7", "t1")
    streaks = {c.hotkey: auditor_streak(c) for c in pool if c.hotkey not in group.excluded}
    # Who is due and stood in the top three is not promoted, and may be pushed out by those who are.
    chosen = {*group.primaries, *group.demoted}
    waiting = [hotkey for hotkey, streak in streaks.items() if streak >= 3 and hotkey not in chosen]
    if waiting:
        assert len(group.promoted) == 3
        assert min(streaks[hotkey] for hotkey in group.promoted) >= max(streaks[hotkey] for hotkey in waiting)
    assert len(group.promoted) == len(group.demoted)
    assert not set(group.demoted) & set(group.primaries)


def test_draws_differ_by_label_round_task_and_hotkey() -> None:
    seed = round_seed(b"s" * 32, "1", "ab" * 32)
    base = draw(seed, "rank", "1", "t", "h")
    others = [
        draw(seed, "auditor", "1", "t", "h"),
        draw(seed, "rank", "2", "t", "h"),
        draw(seed, "rank", "1", "u", "h"),
    ]
    assert base not in others
    assert round_seed(b"s" * 32, "2", "ab" * 32) != seed
    assert len(salt_commitment(b"s" * 32)) == 64
