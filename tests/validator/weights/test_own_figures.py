"""This validator's own figures, read once an epoch, and the condition that follows from them."""

from datetime import UTC, datetime

import pytest

from localnet.chain.simulated import SimulatedChain
from localnet.chain.subnet import SimulatedSubnet, SubnetRules
from sssa.sources import VirtualClock
from validator.health.board import Board
from validator.telemetry.metrics import Metrics
from validator.weights.figures import OwnFiguresWatch, own_figures

START = datetime(2026, 1, 1, tzinfo=UTC)
ME = "Va"


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(START)


@pytest.fixture
def subnet(clock: VirtualClock) -> SimulatedSubnet:
    """Three validators: two agree, and have most of the stake; the third pays another miner."""
    rules = SubnetRules(seed="f", genesis=int(START.timestamp()), block_time_s=1.0, tempo=9, weights_rate_limit=0)
    made = SimulatedSubnet.create(rules, clock)
    for hotkey, stake in ((ME, 10.0), ("Vb", 40.0), ("Vc", 50.0), ("miner1", 0.0), ("miner2", 0.0)):
        made.register(hotkey, stake_tao=stake, validator_permit=stake > 0)
    return made


def pay(subnet: SimulatedSubnet, mine: dict[int, float], others: dict[int, float]) -> None:
    for hotkey, row in ((ME, mine), ("Vb", others), ("Vc", others)):
        assert subnet.set_weights(hotkey, 0, row).accepted


async def test_the_figures_say_how_far_others_agree(subnet: SimulatedSubnet, clock: VirtualClock) -> None:
    await clock.advance(3.0)
    pay(subnet, {3: 1.0, 4: 1.0}, {3: 1.0})
    chain = SimulatedChain(subnet, ME)
    snapshot, parameters = await chain.snapshot(), await chain.parameters()
    found = own_figures(await chain.validators(), snapshot.by_hotkey(ME), parameters)
    assert found is not None
    assert (found.trust, found.median_trust, found.rank, found.validators, found.stake_tao) == (0.5, 1.0, 3, 3, 10.0)
    assert found.dividends == pytest.approx(5 / 95)
    assert own_figures(await chain.validators(), snapshot.by_hotkey("miner1"), parameters) is None
    assert own_figures(await chain.validators(), None, parameters) is None


async def test_low_trust_in_three_epochs_is_a_condition(subnet: SimulatedSubnet, clock: VirtualClock) -> None:
    board, metrics = Board(clock), Metrics(clock, "0")
    watch = OwnFiguresWatch(SimulatedChain(subnet, ME), clock, ME, metrics, board)
    await clock.advance(3.0)
    pay(subnet, {4: 1.0}, {3: 1.0})
    seen = []
    for _ in range(3):
        for _ in range(2):  # a second look in the same epoch counts nothing
            await watch.look()
        seen.append([one.detail for one in board.active()])
        await clock.advance(10.0)
    assert seen == [[], [], ["trust 0.00, median 1.00 of 3 validators, for 3 epochs"]]
    assert {b"validator_trust 0.0", b"validator_median_trust 1.0", b"validator_rank 3.0"} <= set(
        metrics.render().splitlines()
    )
    pay(subnet, {3: 1.0}, {3: 1.0})
    await watch.look()
    assert board.active() == ()
