"""Rows of validators become shares as Yuma consensus makes them: a median by stake clips what nobody else gives."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sssa.protocol.weight_rows import KAPPA, incentives, weighted_median

stakes = st.lists(st.floats(0.5, 1_000), min_size=1, max_size=6)


def test_equal_stakes_meet_in_the_middle_and_a_majority_clips_the_rest() -> None:
    rows = {0: {7: 0.6, 8: 0.4}, 1: {7: 0.2, 8: 0.8}}
    assert incentives(rows, {0: 5.0, 1: 5.0}) == pytest.approx({7: 0.4, 8: 0.6})
    # Of 7, 0.6 has 40% of the stake behind it, 0.2 all of it; of 8, 0.8 has 60%.
    clipped = {7: 0.2, 8: 0.4 * 0.4 + 0.6 * 0.8}
    total = sum(clipped.values())
    found = incentives(rows, {0: 4.0, 1: 6.0})
    assert found == pytest.approx({uid: value / total for uid, value in clipped.items()})


def test_who_alone_favours_somebody_favours_nobody() -> None:
    honest = {1: {7: 1.0}, 2: {7: 1.0}}
    assert incentives({**honest, 3: {9: 1.0}}, {1: 1.0, 2: 1.0, 3: 1.0}) == {7: 1.0}


def test_a_row_without_weights_or_stake_has_no_say() -> None:
    rows = {0: {7: 3.0, 8: 1.0}, 1: {}, 2: {9: 1.0}}
    assert incentives(rows, {0: 1.0, 1: 100.0, 2: 0.0}) == {7: 0.75, 8: 0.25}
    assert incentives(rows, {0: 0.0, 1: 1.0, 2: 0.0}) == {}
    assert incentives({}, {}) == {}


def test_half_of_the_stake_is_not_more_than_half() -> None:
    assert weighted_median([0.2, 0.6], [0.5, 0.5], kappa=0.5) == 0.6


@given(stakes, st.data())
@settings(max_examples=60)
def test_the_median_has_the_stake_behind_it(given_stakes: list[float], data: st.DataObject) -> None:
    shares = [stake / sum(given_stakes) for stake in given_stakes]
    values = data.draw(st.lists(st.floats(0, 1), min_size=len(shares), max_size=len(shares)))
    found = weighted_median(values, shares)
    assert found in values
    below = sum(share for value, share in zip(values, shares, strict=True) if value < found)
    upto = sum(share for value, share in zip(values, shares, strict=True) if value <= found)
    assert below <= 1 - KAPPA + 1e-9
    assert upto > 1 - KAPPA - 1e-9


@given(stakes, st.data())
@settings(max_examples=60)
def test_shares_sum_to_one_and_lie_between_what_the_rows_give(given_stakes: list[float], data: st.DataObject) -> None:
    row = st.dictionaries(st.integers(0, 5), st.floats(0.01, 1), min_size=1)
    rows = {uid: data.draw(row) for uid in range(len(given_stakes))}
    found = incentives(rows, dict(enumerate(given_stakes)))
    assert not found or sum(found.values()) == pytest.approx(1)
    same = incentives(dict.fromkeys(rows, rows[0]), dict(enumerate(given_stakes)))
    assert same == pytest.approx({uid: weight / sum(rows[0].values()) for uid, weight in rows[0].items()})
