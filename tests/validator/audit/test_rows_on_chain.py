"""The rows on chain are those that the log tells, and nothing else is on chain (SPEC 16, D-28)."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from localnet.chain.simulated import SimulatedChain
from localnet.chain.subnet import SimulatedSubnet, SubnetRules
from sssa.log.chain_evidence import ChainRow, ComparedRow
from sssa.log.verify_report import Verified
from sssa.log.weight_vectors import Confirmed, Mechanism
from sssa.sources import VirtualClock
from validator.audit.chain_rows import compare_rows

ME = "Validator"
ROW = ((1, 65_535), (2, 13_107))
CONFIRMED = Confirmed(1, 0, 7, 3, 2, ROW, ("a", "b"))
OTHER = replace(CONFIRMED, hotkeys=("b", "a"))
BOTH: Any = ("assessments", "workflows")
MECHANISM = Mechanism(1, 0, BOTH, since=1, open_since=None)
FILE = replace(
    Verified(**dict.fromkeys(Verified.__dataclass_fields__)),  # type: ignore[arg-type]
    hotkey=ME,
    confirmed=(CONFIRMED,),
    mechanisms=(MECHANISM,),
    blocks=(0, 9),
)


class Chain:
    """A subnet of a validator and two miners, in block 2."""

    def __init__(self, **rules: Any) -> None:
        self.clock = VirtualClock(datetime(2026, 1, 1, tzinfo=UTC))
        genesis = int(self.clock.now().timestamp())
        given = {"block_time_s": 1.0, "weights_rate_limit": 0, **rules}
        self.subnet = SimulatedSubnet.create(SubnetRules(seed="r", genesis=genesis, **given), self.clock)
        self.subnet.register(ME, stake_tao=1.0, validator_permit=True)
        for name in ("a", "b"):
            self.subnet.register(name)

    async def sets(self, block: int, second: float, mechid: int = 0) -> None:
        await self.clock.advance(float(block - self.subnet.blocks.number()))
        self.subnet.set_weights(ME, mechid, {1: 1.0, 2: second})

    async def held(self, file: Verified) -> tuple[ComparedRow, ...]:
        return await compare_rows(SimulatedChain(self.subnet, ""), file)


@pytest.fixture
async def chain() -> Chain:
    made = Chain()
    await made.sets(2, 0.2)
    return made


async def test_the_row_of_the_newest_confirmed_vector_is_on_chain(chain: Chain) -> None:
    assert await chain.held(FILE) == (ComparedRow(ChainRow(1, 0, 0, 2, ROW), None),)
    (one,) = await chain.held(replace(FILE, hotkey="Somebody"))
    assert (one.holds, one.fault) == (False, "Somebody is not registered on netuid 1")
    assert await chain.held(replace(FILE, hotkey="Somebody", confirmed=())) == ()


async def test_another_row_in_the_same_block_is_found() -> None:
    chain = Chain()
    await chain.sets(2, 0.3)
    (one,) = await chain.held(FILE)
    assert (one.holds, "uid 2: 19660 on chain, 13107 in" in (one.fault or "")) == (False, True)


@pytest.mark.parametrize(
    ("blocks", "open_since", "note"),
    [
        ((0, 9), None, None),
        ((0, 9), 7, None),
        ((0, 9), 4, "it does not tell yet the fate of the vector of block 4; export it again"),
        ((0, 5), None, "export it again"),
    ],
)
async def test_weights_that_the_file_goes_beyond_and_does_not_tell_are_found(
    chain: Chain, blocks: tuple[int, int], open_since: int | None, note: str | None
) -> None:
    """They were sent by somebody else than this log's program."""
    await chain.sets(5, 0.3)
    file = replace(FILE, blocks=blocks, mechanisms=(replace(MECHANISM, open_since=open_since),))
    (one,) = await chain.held(file)
    assert (one.holds, one.note) == (note is not None, note)
    assert "the chain has weights of block 5, the newest confirmed vector of the file is that of block 2" in str(one)


@pytest.mark.parametrize(
    ("changes", "note"),
    [
        ({}, None),
        ({"mechanisms": ()}, None),
        ({"mechanisms": (), "blocks": (4, 9)}, "they are older than the file"),
        ({"mechanisms": (replace(MECHANISM, since=3),)}, "they are older than its first vector"),
        ({"blocks": None}, "export it again"),
    ],
)
async def test_who_only_pretends_to_send_nothing_is_found(
    chain: Chain, changes: dict[str, Any], note: str | None
) -> None:
    (one,) = await chain.held(replace(FILE, confirmed=(), **changes))
    assert (one.holds, one.note) == (note is not None, note)
    assert "the newest confirmed vector of the file is none" in (one.fault or "")


async def test_every_mechanism_of_the_subnet_is_looked_at() -> None:
    chain = Chain(mechanisms=2)
    await chain.sets(2, 0.2)
    assert [one.holds for one in await chain.held(FILE)] == [True]
    await chain.sets(5, 0.3, mechid=1)
    assert [(one.row.mechid, one.holds) for one in await chain.held(FILE)] == [(0, True), (1, False)]


async def test_a_row_that_pays_somebody_else_by_his_uid_is_found(chain: Chain) -> None:
    (one,) = await chain.held(replace(FILE, confirmed=(OTHER,)))
    assert one.fault == "netuid 1, mechanism 0, uid 1: a on chain since block 0, b in the vector of block 2"
    assert not one.holds
    await chain.clock.advance(1.0)
    for name, successor in (("a", "c"), ("b", "d")):
        chain.subnet.deregister(name)
        chain.subnet.register(successor)
    assert [one.fault for one in await chain.held(FILE)] == [None]


async def test_what_is_committed_first_shows_later() -> None:
    (one,) = await Chain(reveal_epochs=1).held(FILE)
    assert (one.holds, one.fault is None) == (True, False)
