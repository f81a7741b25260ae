"""Results of a released version never change: random rounds, compared with those of the release."""

import os
from concurrent.futures import ProcessPoolExecutor

import pytest
from builders import V1
from random_rounds import chunks, digest_of, recorded

FIRST = 300
ROUNDS = int(os.environ.get("RANDOM_ROUNDS", "0"))


def test_random_rounds_come_to_what_they_came_to_when_the_version_was_released() -> None:
    assert _digest(range(FIRST)) == recorded()[0]


@pytest.mark.skipif(not ROUNDS, reason="long: `make random-rounds` runs it")
def test_many_random_rounds_come_to_what_they_came_to_when_the_version_was_released() -> None:
    whole = ROUNDS // 1_000
    with ProcessPoolExecutor() as pool:
        found = list(pool.map(_digest, chunks(whole * 1_000)))
    assert len(found) == whole > 0
    assert found == recorded()[1 : 1 + whole]


def _digest(numbers: range) -> str:
    return digest_of(numbers, V1)
