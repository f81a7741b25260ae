"""Rows of several validators side by side, and their aggregate."""

from datetime import UTC, datetime

import pytest

from localnet.chain.subnet import SimulatedSubnet, SubnetRules
from localnet.vector_comparison import moved, payout, spread_of
from sssa.sources import VirtualClock

START = datetime(2026, 1, 1, tzinfo=UTC)


async def test_the_payout_is_what_the_chain_has_and_makes_of_it() -> None:
    clock = VirtualClock(START)
    rules = SubnetRules(seed="t", genesis=int(START.timestamp()), block_time_s=1.0, tempo=20, weights_rate_limit=0)
    subnet = SimulatedSubnet.create(rules, clock)
    for validator in ("A", "B", "C"):
        subnet.register(validator, stake_tao=100.0, validator_permit=True)
    one, other = subnet.register("one"), subnet.register("other")
    await clock.advance(2.0)
    subnet.set_weights("A", 0, {one: 0.25, other: 0.75})
    found = payout(subnet, ["A", "B"])
    assert [dict(row.shares) for row in found.rows] == [pytest.approx({"one": 0.25, "other": 0.75}, abs=1e-4), {}]
    assert found.spread is None
    assert found.distance == pytest.approx(0, abs=1e-4)
    subnet.set_weights("B", 0, {one: 1.0})
    found = payout(subnet, ["A", "B"])
    assert [row.hotkey for row in found.rows] == ["A", "B"]
    assert found.aggregate == pytest.approx({"one": 0.625, "other": 0.375}, abs=1e-4)
    assert found.spread == pytest.approx(0.75, abs=1e-4)
    assert found.distance == pytest.approx(0.375, abs=1e-4)


def test_what_is_moved_is_a_part_of_the_whole() -> None:
    assert moved({"a": 1.0}, {"b": 1.0}) == 1.0
    assert moved({"a": 0.5, "b": 0.5}, {"a": 0.5, "b": 0.5}) == 0.0
    assert moved({"a": 0.5, "b": 0.5}, {"a": 0.25, "c": 0.75}) == 0.75
    assert spread_of([{"a": 1.0}, {}, {"b": 1.0}, {"a": 1.0}]) == pytest.approx(2 / 3)
    assert spread_of([{"a": 1.0}, {}]) is None
