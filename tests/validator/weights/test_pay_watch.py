"""When few take what many earned: thresholds, whose fault, and how often a crowd that comes and goes is logged."""

from collections.abc import Iterator, MutableMapping
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
import structlog
from world import VALIDATOR, World, honest, on_virtual_time, prepared

from sssa.protocol.answer import Dispatch
from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import SkillType
from sssa.state.mechanism_state import Miner, Pair, State
from validator.health.board import Board
from validator.miners.scripted import ScriptedReply
from validator.rounds.attribution import network_away
from validator.settings.model import WeightsSettings
from validator.store import Store
from validator.store.repositories.dispatches import RecentAnswers
from validator.weights.pay_watch import LEAST_PAID, PayWatch, crowd_of
from validator.weights.plan import Vector, mechanisms

RAG, MCP = SkillType.RAG_KNOWLEDGE, SkillType.MCP_SERVER
BROKEN = ScriptedReply(b"", status=500, seconds=0.5)
KINDS = mechanisms(WeightsSettings())[0]
DAY_S = 86_400.0


class Scene:
    """A world's rounds, and the watch over them; `out` is who fails."""

    def __init__(self, store: Store, miners: int = 9, owner_hotkey: str | None = None) -> None:
        self.out: set[str] = set()
        self.world = World(store, miners=miners, script=self._answer, owner_hotkey=owner_hotkey)
        self.hotkeys = [*self.world.signers]
        self.board = Board(self.world.clock)
        away = partial(network_away, self.world.chain, self.world.source, lambda: None)
        self.watch = PayWatch(store, self.world.clock, self.board, VALIDATOR.hotkey, away)

    def _answer(self, signer: Signer, dispatch: Dispatch) -> ScriptedReply:
        return BROKEN if signer.hotkey in self.out else honest(signer, dispatch)

    async def rounds(self, count: int = 1) -> None:
        for _ in range(count):
            await on_virtual_time(self.world, self.world.service.one_round())
            await self.look()

    async def look(self) -> None:
        """Let the watch look as after a round."""
        await on_virtual_time(self.world, self.watch._check_round(self.world.subnet.snapshot()))
        self.board.tick()

    async def vector(self, uids: dict[int, float], paid: int) -> dict[str, str]:
        """Show it a vector; return the active conditions."""
        weights = dict.fromkeys(self.hotkeys[:paid], 0.1)
        vector = Vector(uids, weights, weights, 0.0, None, "1.0.0", ())
        await self.watch.check_vector(0, KINDS, self.world.subnet.snapshot(), vector)
        return {one.condition.name: one.detail for one in self.board.active()}

    @property
    def detail(self) -> str | None:
        return next((one.detail for one in self.board.active() if one.condition.name == "miners_out"), None)


@pytest.fixture
def log() -> Iterator[list[MutableMapping[str, Any]]]:
    with structlog.testing.capture_logs() as lines:
        yield lines


def answers(hotkey: str, *, failed: int | None = None, kind: SkillType = RAG) -> RecentAnswers:
    return RecentAnswers(hotkey, kind, answered=True, failed=failed)


def excluding(*hotkeys: str) -> State:
    return State({hotkey: Miner({RAG: Pair(excluded=1)}) for hotkey in hotkeys})


@pytest.mark.parametrize(
    ("out", "of", "mostly"), [(4, 8, False), (5, 8, True), (4, 9, False), (5, 9, True), (1, 1, True)]
)
def test_most_is_more_than_half(out: int, of: int, mostly: bool) -> None:
    everyone = [f"miner{n}" for n in range(of)]
    crowd = crowd_of(
        [answers(one, failed=7 if n < out else None) for n, one in enumerate(everyone)], everyone, (), State()
    )
    assert (len(crowd.types), len(crowd.failing), crowd.mostly_out) == (of, out, mostly)


def test_excluded_is_who_is_left_out_of_every_type_it_answered() -> None:
    crowd = crowd_of(
        [
            answers("one", failed=3),
            answers("half"),
            answers("half", kind=MCP),
            answers("ejected"),
            answers("failing", failed=5),
            answers("failing", kind=MCP, failed=4),
            answers("gone", failed=1),
            RecentAnswers("never", RAG, answered=False, failed=None),
        ],
        {"one", "half", "ejected", "failing", "never"},
        {"ejected", "never"},
        excluding("one", "half", "never"),
    )
    assert set(crowd.types) == {"one", "half", "ejected", "failing"}
    assert (crowd.excluded, crowd.failing) == ({"one", "ejected"}, {"failing"})
    assert crowd.types["half"] == {RAG, MCP}


def test_the_first_round_is_the_one_with_which_most_failures_began() -> None:
    began = {"old": 2, "a": 12, "b": 12, "c": 13, "d": 13, "e": 12}
    crowd = crowd_of([answers(hotkey, failed=number) for hotkey, number in began.items()], began, (), State())
    assert crowd.first == 12


async def test_what_the_rounds_of_the_last_day_came_to(store: Store) -> None:
    scene = Scene(store)
    await scene.rounds(3)
    assert scene.detail is None
    scene.out = set(scene.hotkeys[:5])
    await scene.rounds(2)
    assert scene.detail is not None
    assert scene.detail.startswith("5 of 9 miners that answered in the last day are out (0 excluded, 5 failing)")
    assert "since round 3;" in scene.detail
    scene.world.subnet.deregister(scene.hotkeys[0])
    await scene.look()
    assert scene.detail is None  # four of eight: who is not registered is no miner
    async with store.read() as tx:
        now = scene.world.clock.now()
        assert len({one.hotkey for one in await tx.dispatches.recent(now - timedelta(days=1))}) == 9
        assert await tx.dispatches.recent(now) == ()
    await scene.world.clock.advance(DAY_S)
    await scene.rounds()  # of those that failed nobody has answered in the last day
    assert scene.detail is None


async def test_a_round_in_hand_says_nothing_yet(store: Store) -> None:
    scene = Scene(store)
    await scene.rounds()
    scene.out = set(scene.hotkeys)
    await on_virtual_time(scene.world, scene.world.dispatcher.dispatch(await prepared(scene.world)))
    async with store.read() as tx:
        assert "failed" in {one.state for one in await tx.dispatches.of_round(1)}
        found = await tx.dispatches.recent(scene.world.clock.now() - timedelta(days=1))
    assert {one.failed for one in found} == {None}


async def test_whose_fault_follows_from_what_else_cannot_be_reached(store: Store) -> None:
    scene = Scene(store)
    await scene.rounds(2)
    scene.out = set(scene.hotkeys[1:])
    await scene.vector({}, 0)
    assert scene.detail is None
    await scene.rounds()
    assert scene.detail is not None
    assert scene.detail.endswith("probably their fault: the chain's endpoint and the task source can be reached")
    scene.world.chain.faults.unreachable_until = scene.world.subnet.blocks.number() + 5
    await scene.look()
    assert scene.detail.endswith("probably our fault: the chain's endpoint or the task source cannot be reached either")
    await scene.world.clock.advance(60)
    await scene.look()
    assert "probably our fault" in scene.detail  # until it is over: what was ours has excluded them
    scene.out.clear()
    await scene.rounds()
    assert scene.detail is None
    scene.out = set(scene.hotkeys[1:])
    await scene.rounds()
    assert scene.detail is not None
    assert "probably their fault" in scene.detail


async def test_an_endpoint_that_hangs_is_ours_and_holds_up_no_vector(store: Store) -> None:
    scene = Scene(store)
    await scene.rounds(2)

    async def hangs() -> bool:
        await scene.world.clock.sleep(DAY_S)
        return False

    scene.watch.away = hangs
    scene.out = set(scene.hotkeys[1:])
    await on_virtual_time(scene.world, scene.world.service.one_round())
    found = await scene.vector({1: 1.0}, 1)  # the clock stops
    assert found["miners_out"].endswith("cause unknown until a round has ended")
    await scene.look()
    assert scene.detail is not None
    assert "probably our fault" in scene.detail


async def test_more_than_half_is_measured_on_the_row_as_the_chain_has_it(store: Store) -> None:
    scene = Scene(store, miners=4, owner_hotkey=VALIDATOR.hotkey)
    for uids, whose in (
        ({1: 0.5, 2: 0.5}, None),
        ({1: 0.500001, 2: 0.499999}, None),  # as u16 they are the same
        ({1: 0.5001, 2: 0.4999}, "a miner"),
        ({1: 0.15}, "a miner"),  # nobody takes the rest
        ({1: 0.15, 0: 0.85}, "the subnet's owner"),
        ({1: 0.15, 2: 0.15, 3: 0.15, 0: 0.55}, "the subnet's owner"),
        ({1: 0.15, 2: 0.15, 3: 0.15, 4: 0.15, 0: 0.4}, None),
        ({}, None),
    ):
        found = await scene.vector(uids, 3)
        assert ("weights_concentrated" in found) == (whose is not None), uids
        if whose is not None:
            assert f"of the row is for {whose}, " in found["weights_concentrated"]


async def test_few_are_paid_where_many_answered(store: Store) -> None:
    scene = Scene(store, miners=LEAST_PAID)
    assert "weights_few_paid" not in await scene.vector({}, 1)  # nobody has answered yet
    await scene.rounds(4)
    found = await scene.vector({}, LEAST_PAID - 1)
    assert found["weights_few_paid"] == "mechanism 0: 6 paid, 7 answered in the last day"
    assert "weights_few_paid" not in await scene.vector({}, LEAST_PAID)


async def test_a_crowd_that_comes_and_goes_fills_no_log(store: Store, log: list[MutableMapping[str, Any]]) -> None:
    """A majority that fails in every other round: conditions follow, the log has a pair of lines an hour."""
    scene = Scene(store)
    await scene.rounds(2)
    began, turns = scene.world.clock.monotonic(), 30
    for turn in range(turns):
        scene.out = set() if turn % 2 else set(scene.hotkeys[:8])
        await scene.rounds()
        found = await scene.vector({1: 1.0} if turn % 2 else {turn // 2 % 9: 1.0}, 1)
        assert ("miners_out" in found) == (turn % 2 == 0)
        assert {one.condition.severity for one in scene.board.active()} <= {"degraded"}
        await scene.world.clock.advance(600)
    hours = (scene.world.clock.monotonic() - began) / 3600
    for name in ("miners_out", "weights_concentrated"):
        raised = [line for line in log if line.get("condition") == name and line["event"] == "condition_raised"]
        assert 2 <= len(raised) <= hours + 1
