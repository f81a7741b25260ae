"""Slots change hands: whatever happens, the rules of uid reuse hold."""

import asyncio
from datetime import UTC, datetime

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from localnet.chain.subnet import RegistrationError, SimulatedSubnet, SubnetRules
from sssa.sources import VirtualClock

START = datetime(2026, 1, 1, tzinfo=UTC)
SLOTS, IMMUNITY = 4, 5
VALIDATOR, OWNER = "Validator", "Owner"


class UidReuse(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.clock = VirtualClock(START)
        rules = SubnetRules(
            seed="uids",
            genesis=int(START.timestamp()),
            block_time_s=1.0,
            max_uids=SLOTS,
            immunity_period=IMMUNITY,
            weights_rate_limit=0,
            owner_hotkey=OWNER,
        )
        self.subnet = SimulatedSubnet.create(rules, self.clock)
        self.subnet.register(OWNER)
        self.subnet.register(VALIDATOR, stake_tao=100, validator_permit=True)
        self.expected = {OWNER: 0, VALIDATOR: 1}
        self.registered_at = {OWNER: 0, VALIDATOR: 0}
        self.names = 0

    @property
    def block(self) -> int:
        return self.subnet.blocks.number()

    @rule(seconds=st.integers(1, 4))
    def wait(self, seconds: int) -> None:
        asyncio.run(self.clock.advance(seconds))

    @rule()
    def register(self) -> None:
        self.names += 1
        hotkey = f"m{self.names}"
        before = {neuron.uid: neuron.hotkey for neuron in self.subnet.snapshot().neurons}
        old = {
            key
            for key, at in self.registered_at.items()
            if self.block - at >= IMMUNITY and key not in (OWNER, VALIDATOR)
        }
        paid = self.subnet.incentives()
        incentives = {before[uid]: paid.get(uid, 0.0) for uid in before}
        try:
            uid = self.subnet.register(hotkey)
        except RegistrationError:
            assert len(before) == SLOTS
            assert not old
            return
        if len(before) < SLOTS:
            assert uid == min(set(range(SLOTS)) - set(before))
        else:
            loser = before[uid]
            assert loser in old
            assert (incentives[loser], self.registered_at[loser]) == min(
                (incentives[key], self.registered_at[key]) for key in old
            )
            del self.expected[loser], self.registered_at[loser]
        assert uid not in self.subnet.incentives()
        assert self.subnet.weights(0, uid) == {}
        self.expected[hotkey] = uid
        self.registered_at[hotkey] = self.block

    @precondition(lambda self: len(self.expected) > 2)
    @rule(data=st.data())
    def deregister(self, data: st.DataObject) -> None:
        hotkey = data.draw(st.sampled_from(sorted(set(self.expected) - {OWNER, VALIDATOR})))
        assert self.subnet.deregister(hotkey) == self.expected.pop(hotkey)
        del self.registered_at[hotkey]

    @rule(data=st.data())
    def set_weights(self, data: st.DataObject) -> None:
        uids = st.sampled_from(sorted(self.expected.values()))
        weights = data.draw(st.dictionaries(uids, st.floats(0.01, 1), min_size=1))
        assert self.subnet.set_weights(VALIDATOR, 0, weights).accepted

    @invariant()
    def uids_and_hotkeys_stay_one_to_one(self) -> None:
        snapshot = self.subnet.snapshot()
        assert {neuron.hotkey: neuron.uid for neuron in snapshot.neurons} == self.expected
        assert len({neuron.uid for neuron in snapshot.neurons}) == len(snapshot.neurons) <= SLOTS

    @invariant()
    def incentives_are_shares(self) -> None:
        incentives = self.subnet.incentives().values()
        assert all(0 <= value <= 1 for value in incentives)
        assert not incentives or sum(incentives) == pytest.approx(1, abs=1e-12)


UidReuse.TestCase.settings = settings(max_examples=60, stateful_step_count=40)
test_uid_reuse = UidReuse.TestCase
