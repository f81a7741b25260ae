"""Behavior of the real SDK over a node in memory, beyond the contract of every chain."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import bittensor_core
import msgspec
import pytest
import subtensor_state
from pump import pumped
from structlog.testing import capture_logs
from subtensor_node import NEWER, Node

from localnet.chain.subnet import SimulatedSubnet, SubnetRules
from sssa.protocol.round import Axon
from sssa.protocol.signatures import Signer
from sssa.sources import VirtualClock
from validator.chain.bittensor import BittensorChain
from validator.chain.interface import BehindError, ChainError, ChainUnreachableError, NoSubnetError, OtherChainError
from validator.chain.limits import Limits

START = datetime(2026, 1, 1, tzinfo=UTC)
ME = Signer.from_uri("//Validator")
MINER, OTHER = Signer.from_uri("//Miner").hotkey, Signer.from_uri("//Other").hotkey


class Bench:
    """A node, a chain on it, and the time between them."""

    def __init__(self, *, lacks: frozenset[str] = frozenset(), netuid: int = 1, **rules: object) -> None:
        self.clock = VirtualClock(START)
        given = {"tempo": 9, "block_time_s": 2.0, "weights_rate_limit": 5, **rules}
        made = SubnetRules(seed="n", genesis=int(START.timestamp()), **given)  # type: ignore[arg-type]
        self.subnet = SimulatedSubnet.create(made, self.clock)
        self.subnet.register(ME.hotkey, stake_tao=100.0, validator_permit=True)
        self.subnet.register(MINER, axon=Axon("192.0.2.7", 8091))
        self.subnet.register(OTHER, axon=Axon("2001:db8::7", 8092))
        self.node = Node(self.subnet, self.clock, lacks=lacks)
        self.chain = BittensorChain(
            endpoints=("ws://node.invalid/key",),
            netuid=netuid,
            signer=ME,
            clock=self.clock,
            limits=Limits(call_s=20.0, submit_s=60.0, no_block_s=40.0),
            substrate=self.node.connect,
        )

    async def ready(self) -> "Bench":
        await self.clock.advance(30.0)
        return self


pytestmark = pytest.mark.usefixtures("sdk_home")


async def test_a_snapshot_is_read_at_one_block_and_says_what_the_chain_says() -> None:
    bench = await Bench(owner_hotkey=OTHER).ready()
    bench.node.certificates.add(OTHER)
    seen = await bench.chain.snapshot()
    assert set(bench.node.pinned) == {bench.node.hash(15)}
    expected = bench.subnet.snapshot()
    assert seen.neurons[2].axon == Axon("2001:db8::7", 8092, tls=True)
    assert seen.neurons[:2] == expected.neurons[:2]
    assert (seen.block, seen.block_hash, seen.block_time) == (15, expected.block_hash, expected.block_time)
    assert (seen.epoch, seen.tempo, seen.owner_hotkey) == (1, 9, OTHER)
    assert (await bench.chain.head()).epoch_end == 17


async def test_a_block_far_below_the_highest_one_is_behind_and_no_subnet_is_missed() -> None:
    bench = await Bench().ready()
    assert (await bench.chain.parameters()).takes_commitments
    await bench.clock.advance(60.0)
    assert (await bench.chain.head()).number == 45
    bench.node.behind = 20
    assert (await bench.chain.head()).number == 25
    bench.node.behind, bench.node.gone = 30, True
    for call in (bench.chain.head(), bench.chain.snapshot()):
        with pytest.raises(BehindError, match="block 15, 30 blocks behind block 45"):
            await call


async def test_a_subnet_without_an_owner_names_nobody() -> None:
    assert (await (await Bench().ready()).chain.snapshot()).owner_hotkey is None


async def test_a_block_that_is_replaced_while_it_is_read_is_read_again() -> None:
    bench = await Bench().ready()

    def replace(name: str) -> None:
        if name == "get_metagraph" and not bench.node.replaced:
            bench.node.replaced.add(15)

    bench.node.after_read = replace
    assert "0x" + (await bench.chain.snapshot()).block_hash == bench.node.hash(15)

    def flip(name: str) -> None:
        if name == "get_metagraph":
            bench.node.replaced ^= {15}

    bench.node.after_read = flip
    with pytest.raises(ChainError, match="replaced again and again"):
        await bench.chain.snapshot()


async def test_another_genesis_than_before_is_refused_and_signs_nothing() -> None:
    bench = await Bench().ready()
    own = bench.node.subnet
    assert await bench.chain.genesis() == own.blocks.identity
    bench.node.subnet = SimulatedSubnet.create(msgspec.structs.replace(own.rules, seed="other"), bench.clock)
    calls: list[Callable[[], Awaitable[object]]] = [bench.chain.genesis, bench.chain.head, bench.chain.snapshot]
    for call in calls:
        with pytest.raises(OtherChainError, match=f"not {own.blocks.identity}; check chain.endpoints"):
            await call()
    with pytest.raises(ChainUnreachableError, match="nothing was sent: its genesis is"):
        await bench.chain.set_weights(0, {1: 1.0}, valid_blocks=8)
    assert bench.node.sent == []
    bench.node.subnet = own
    assert (await bench.chain.snapshot()).block_hash == own.snapshot().block_hash


async def test_a_wrong_netuid_has_its_own_error() -> None:
    bench = Bench(netuid=7)
    with pytest.raises(NoSubnetError, match=r"netuid 7; check validator\.netuid"):
        await bench.chain.head()
    with pytest.raises(NoSubnetError):
        await bench.chain.snapshot()


async def test_no_node_is_said_once_the_limit_is_over_without_the_secret_part_of_its_url() -> None:
    bench = Bench()
    bench.node.down = True
    with pytest.raises(ChainUnreachableError) as caught:
        await pumped(bench.clock, bench.chain.head())
    assert "no endpoint answered within 20 s: ws://node.invalid/***" in str(caught.value)
    bench.node.down = False
    await pumped(bench.clock, bench.chain.head())
    assert bench.node.connections == 1


async def test_an_unknown_network_is_named() -> None:
    chain = BittensorChain(endpoints=("nowhere",), netuid=1, signer=ME, clock=VirtualClock(START))
    with pytest.raises(ChainError, match=r"chain\.endpoints: Unknown network 'nowhere'"):
        await chain.head()


async def test_an_old_runtime_is_read_item_by_item_and_said_once() -> None:
    bench = await Bench(lacks=NEWER).ready()
    with capture_logs() as logs:
        head = await bench.chain.head()
        assert (head.epoch, head.epoch_end) == (1, 16)
        assert (await bench.chain.snapshot()).epoch == 1
        parameters = await bench.chain.parameters()
        assert (parameters.mechanisms, parameters.takes_commitments) == (1, False)
        assert await bench.chain.commits(0) == ()
        await bench.chain.head()
    assert [(log["event"], log["missing"]) for log in logs] == [
        ("chain_old_runtime", "get_next_epoch_start_block"),
        ("chain_old_runtime", "SubnetEpochIndex"),
        ("chain_old_runtime", "MechanismCountCurrent"),
        ("chain_old_runtime", "TimelockedWeightCommits"),
    ]


async def test_an_old_runtime_takes_plain_weights() -> None:
    bench = await Bench(lacks=NEWER).ready()
    result = await pumped(bench.clock, bench.chain.set_weights(0, {1: 1.0, 2: 0.5}, valid_blocks=8))
    assert result.accepted
    assert bench.node.sent[0].function == "set_weights"
    assert await bench.chain.weights(0, 0) == {1: 65_535, 2: 32_768}


async def test_an_old_runtime_that_wants_commitments_is_refused_before_signing() -> None:
    bench = await Bench(lacks=NEWER, reveal_epochs=1).ready()
    result = await pumped(bench.clock, bench.chain.set_weights(0, {1: 1.0}, valid_blocks=8))
    assert (result.accepted, result.message.partition(":")[0]) == (False, "disabled")
    assert bench.node.sent == []


async def test_a_commitment_holds_the_row_byte_for_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = await Bench(reveal_epochs=1, max_weights_limit=455).ready()
    inside: list[dict[int, int]] = []
    encrypt = bittensor_core.get_encrypted_commit_v2

    def looked(**given: Any) -> Any:
        inside.append(dict(zip(given["uids"], given["weights"], strict=True)))
        return encrypt(**given)

    monkeypatch.setattr(bittensor_core, "get_encrypted_commit_v2", looked)
    row = {1: 65_535, 2: 32_768, 0: 10_923}
    assert (await pumped(bench.clock, bench.chain.set_weights(0, row, valid_blocks=8))).accepted
    assert inside == [row]


@pytest.mark.parametrize(
    ("spec_version", "consensus", "exempt"), [(392, "Yuma", False), (393, "Yuma", True), (440, {"Null": None}, False)]
)
async def test_the_runtimes_version_and_consensus_decide_about_the_owners_exemption(
    spec_version: int, consensus: object, exempt: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = await Bench().ready()
    bench.node.spec_version = spec_version
    monkeypatch.setitem(subtensor_state._READS, "SubnetEpochConsensus", lambda *_: consensus)
    assert (await bench.chain.parameters()).owner_exempt == exempt


async def test_a_submission_is_mortal_and_its_connection_is_closed() -> None:
    bench = await Bench().ready()
    await bench.chain.head()
    await pumped(bench.clock, bench.chain.set_weights(0, {1: 1.0}, valid_blocks=100))
    assert bench.node.sent[0].period == 128
    assert bench.chain.submission_lifetime(100) > 128
    assert bench.node.connections == 1
    await bench.chain.close()
    assert bench.node.connections == 0
    with pytest.raises(ChainError, match="was closed"):
        await bench.chain.head()
    with pytest.raises(ChainUnreachableError, match="was closed"):
        await bench.chain.set_weights(0, {1: 1.0}, valid_blocks=8)


@pytest.mark.parametrize(
    "refusal", ["Extrinsic dropped: x", "Transaction is already imported", "State already discarded"]
)
async def test_what_the_pool_does_not_rule_out_is_unknown(refusal: str) -> None:
    bench = await Bench().ready()
    bench.node.pool_refusal = refusal
    with pytest.raises(ChainError, match="unknown") as caught:
        await pumped(bench.clock, bench.chain.set_weights(0, {1: 1.0}, valid_blocks=8))
    assert not isinstance(caught.value, ChainUnreachableError)


@pytest.mark.parametrize(
    ("refusal", "message"),
    [
        ("Invalid Transaction: Custom error: 6", "rate_limited (RateLimitExceeded): "),
        ("Invalid Transaction: Transaction is outdated", "expired (Stale): "),
    ],
)
async def test_what_the_pool_rules_out_is_refused(refusal: str, message: str) -> None:
    bench = await Bench().ready()
    bench.node.pool_refusal = refusal
    result = await pumped(bench.clock, bench.chain.set_weights(0, {1: 1.0}, valid_blocks=8))
    assert not result.accepted
    assert result.message.startswith(message.partition(" ")[0])
    assert message.split()[1] in result.message


@pytest.mark.parametrize("cancelled", [False, True])
async def test_nothing_is_signed_after_the_time_for_it_or_after_giving_up(cancelled: bool) -> None:
    bench = await Bench().ready()
    bench.node.fault = "late"
    sending = asyncio.create_task(bench.chain.set_weights(0, {1: 1.0}, valid_blocks=8))
    if cancelled:
        await pumped(bench.clock, bench.subnet.blocks.wait_for(18))  # prepared, and in good time to sign
        sending.cancel()
    with pytest.raises(asyncio.CancelledError if cancelled else ChainUnreachableError):
        await pumped(bench.clock, asyncio.wait_for(sending, None))
    await pumped(bench.clock, bench.subnet.blocks.wait_for(2_000), step_s=50.0)
    assert bench.node.sent == []


async def test_nothing_is_signed_for_a_head_that_is_long_past() -> None:
    """Its lifetime counts from that head: after a kill nobody waits longer."""
    bench = await Bench().ready()
    with pytest.raises(ChainUnreachableError, match="nothing was sent: block 15, and it is made for block 6"):
        await pumped(bench.clock, bench.chain.set_weights(0, {1: 1.0}, valid_blocks=8, head=6))
    assert bench.node.sent == []
    assert (await pumped(bench.clock, bench.chain.set_weights(0, {1: 1.0}, valid_blocks=8, head=7))).accepted


async def test_a_refused_announcement_names_the_error() -> None:
    bench = await Bench().ready()
    await pumped(bench.clock, bench.chain.announce_axon("2001:db8::9", 8_091))
    assert bench.subnet.snapshot().neurons[0].axon == Axon("2001:db8::9", 8_091)
    bench.node.pool_refusal = "Invalid Transaction: Custom error: 12"
    with pytest.raises(ChainError, match="serve axon: rate_limited"):
        await pumped(bench.clock, bench.chain.announce_axon("192.0.2.9", 8_091))


async def test_the_commits_of_others_are_not_counted() -> None:
    bench = await Bench(reveal_epochs=2, weights_rate_limit=0).ready()
    for hotkey in (MINER, ME.hotkey, OTHER, ME.hotkey):
        bench.subnet.set_permit(hotkey, True)
        assert bench.subnet.set_weights(hotkey, 0, {1: 1.0}).accepted
        await bench.clock.advance(2.0)
    assert await bench.chain.commits(0) == (16, 18)


async def test_a_mechanism_younger_than_a_neuron_shows_its_registration() -> None:
    bench = await Bench(mechanisms=2).ready()
    bench.node.young_mechanisms = True
    assert (await pumped(bench.clock, bench.chain.set_weights(1, {1: 1.0}, valid_blocks=8))).accepted
    assert await bench.chain.last_update(1, 0) == await bench.chain.registered_at(0) == 0
    with pytest.raises(ChainError, match="no neuron has uid 9"):
        await bench.chain.last_update(1, 9)
