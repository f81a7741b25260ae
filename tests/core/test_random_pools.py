"""Groups of random pools, against every step of SPEC 8 taken one after the other."""

import hashlib
import random

from builders import V1
from hypothesis import given
from hypothesis import strategies as st
from plain_selection import plain_group
from random_rounds import Dice
from strategies import pools

from sssa.protocol.draws import draw, draws_of, round_seed, salt_commitment
from sssa.protocol.round import GroupPlan
from sssa.scoring import Candidate

FIRST = 300


@given(pools, st.binary(min_size=32, max_size=32))
def test_a_pool_s_group_is_that_of_the_plain_form(pool: list[Candidate], seed: bytes) -> None:
    group, plain = V1.select_group(pool, seed, "7", "t1"), plain_group(pool, seed, "7", "t1")
    assert group == plain
    assert list(group.excluded) == list(plain.excluded)


@given(st.binary(max_size=130), st.text(max_size=80))
def test_draws_that_share_a_beginning_are_hmacs(seed: bytes, hotkey: str) -> None:
    drawn = draws_of(seed, "rank", "7", "t1")
    assert [drawn(hotkey), drawn("x"), drawn(hotkey)] == [
        draw(seed, "rank", "7", "t1", h) for h in (hotkey, "x", hotkey)
    ]


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


def test_large_pools_with_few_and_many_ties_are_those_of_the_plain_form() -> None:
    promoted, tied = _compared(range(FIRST))
    assert promoted > FIRST // 10
    assert tied > FIRST // 10


def _compared(numbers: range) -> tuple[int, int]:
    """Compare the groups of these pools; how many promoted somebody, and how many had a tie for the last rank."""
    promoted = tied = 0
    for number in numbers:
        dice = Dice(random.Random(f"pool {number}").random)
        pool, seed = _pool(dice), hashlib.sha256(str(number).encode()).digest()
        group, plain = V1.select_group(pool, seed, str(number), "ab"), plain_group(pool, seed, str(number), "ab")
        assert group == plain, number
        promoted, tied = promoted + bool(group.promoted), tied + _is_tied(pool, group)
    return promoted, tied


def _is_tied(pool: list[Candidate], group: GroupPlan) -> bool:
    standing = {c.hotkey: c.reputation for c in pool}
    others = [standing[c.hotkey] for c in pool if c.hotkey not in {*group.primaries, *group.excluded}]
    return any(standing[hotkey] in others for hotkey in group.primaries)


def _pool(dice: Dice) -> list[Candidate]:
    few, due = dice.one((2, 5, 40, 10_000)), dice.one((0.0, 0.1, 0.7))
    return [_candidate(f"5{i:03d}", few, due, dice) for i in range(dice.below(90))]


def _candidate(hotkey: str, few: int, due: float, dice: Dice) -> Candidate:
    run = 3 + dice.below(4) if dice.chance(due) else dice.below(3)
    return Candidate(
        hotkey=hotkey,
        reputation=(1 + dice.below(few)) / few,
        collusion_flags=dice.one((0, 0, 0, 0, 0, 0, 0, 3)),
        in_flight=dice.one((0, 0, 0, 1)),
        max_concurrent=1 + dice.below(4),
        dispatches=10,
        failures=dice.below(7),
        recent_roles=(*("auditor",) * run, *dice.one(((), ("primary",), ("primary", "auditor")))),  # type: ignore[arg-type]
    )
