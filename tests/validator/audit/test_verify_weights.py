"""Vectors are computed again from the file alone, and no step of one can be moved unnoticed (SPEC 16, D-28)."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from audit_file import export, lines_of, with_weights
from explained import HOTKEYS
from weights_world import BROKEN, FAILING, WITHDRAWN, PayWorld
from world import VALIDATOR, on_virtual_time

from sssa.log.chain import WrongReceiptError
from sssa.log.chain_evidence import ChainRow, row_fault
from sssa.log.lines import FaultError
from sssa.log.verify import verify_file
from sssa.log.verify_report import Verified
from sssa.log.weight_vectors import Confirmed, Fates
from sssa.protocol.receipt import FateLink, FateState, Owner, WeightedMiner, WeightsDocument, WeightsLink
from sssa.protocol.skill_types import SkillType
from validator.rounds.prepare import Prepared
from validator.rounds.receipts import close_epoch
from validator.rounds.settle import settle_round
from validator.store import open_store
from validator.telemetry import Event

Weights = dict[str, Any]


@pytest.fixture(scope="module", params=["1.0.0"])
def log(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, bytes, bytes]:
    """The version, the log of seven rounds and three vectors, and the part of it from round 3 on."""
    folder = tmp_path_factory.mktemp("weights")
    return (request.param, *asyncio.run(_play(folder, request.param)))


async def _play(folder: Path, version: str) -> tuple[bytes, bytes]:
    async with open_store(f"sqlite:///{folder}/store.sqlite", create=True) as store:
        pay = PayWorld(store, version)
        await pay.rounds(2)
        await pay.vector()
        pay.odd[HOTKEYS[FAILING]] = BROKEN
        pay.declare(HOTKEYS[WITHDRAWN], SkillType.MCP_SERVER)
        await pay.rounds(4)
        await pay.vector()
        await _vector_in_an_open_round(pay)
        assert await close_epoch(store, VALIDATOR, pay.world.clock)
        whole = (await export(store, folder / "log.jsonl")).read_bytes()
        return whole, (await export(store, folder / "part.jsonl", since=3)).read_bytes()


async def _vector_in_an_open_round(pay: PayWorld) -> None:
    """Open the first round of the next epoch, compute its vector, and settle the round only then."""
    blocks, world = pay.world.subnet.blocks, pay.world
    await world.clock.advance((blocks.number() // 10_000 + 1) * 10_000 + 1 - blocks.number())
    snapshot = await world.chain.snapshot()
    await world.service.directory.refresh(snapshot)
    prepared = await world.preparer.prepare(snapshot)
    assert isinstance(prepared, Prepared)
    returned = await on_virtual_time(world, world.dispatcher.dispatch(prepared))
    await pay.line(Event.WEIGHTS_PLANNED)
    await settle_round(world.store, world.clock, VALIDATOR, prepared.frozen, prepared.plan, returned)


def verified(data: bytes, folder: Path) -> Verified:
    path = folder / "file.jsonl"
    path.write_bytes(data)
    return verify_file(path)


def test_every_vector_follows_from_the_file_alone(log: tuple[str, bytes, bytes], tmp_path: Path) -> None:
    _, whole, _ = log
    found = verified(whole, tmp_path)
    assert (found.vectors, found.vectors_recomputed, found.vectors_pending) == (3, 3, 0)
    assert (found.scores_on_word, found.reasons_on_word, found.left_out) == (0, 0, 0)
    assert b'"unpaid":{"declarative":"undeclared"}' in whole


def test_a_vector_of_an_open_round_waits_for_its_end(log: tuple[str, bytes, bytes], tmp_path: Path) -> None:
    lines = lines_of(log[1])
    end = max(i for i, data in enumerate(lines) if data.startswith(b'{"weights":')) + 1
    found = verified(b"".join(lines[:end]), tmp_path)
    assert (found.vectors, found.vectors_recomputed, found.vectors_pending) == (3, 2, 1)


def test_a_part_of_a_log_counts_what_is_from_before_it(log: tuple[str, bytes, bytes], tmp_path: Path) -> None:
    found = verified(log[2], tmp_path)
    assert (found.vectors, found.vectors_recomputed) == (2, 0)
    assert found.scores_on_word > 0
    assert found.reasons_on_word > 0


def _pay_all(document: Weights) -> None:
    for miner in document["miners"]:
        miner.pop("unpaid", None)


FORGERIES: dict[str, tuple[str, Callable[[Weights], object]]] = {
    "a step of u16": ("row[0]", lambda d: d["row"][0].__setitem__(1, d["row"][0][1] - 1)),
    "a uid left out": ("row[1]", lambda d: d["row"].pop(1)),
    "a weight": ("miners[0].weight", lambda d: d["miners"][0].update(weight=0.125)),
    "an entry left out": ("miners[0].assessments", lambda d: d["miners"][0].update(assessments=0.5)),
    "work that nobody did": ("miners[0].workflows", lambda d: d["miners"][0].update(workflows=0.5)),
    "a share": ("workflow_share", lambda d: d.update(workflow_share=0.2)),
    "what is left over": ("unallocated", lambda d: d.update(unallocated=0.5)),
    "an older round": ("round_id", lambda d: d.update(round_id="0")),
    "rounds left out": ("since_round", lambda d: d.update(since_round="0")),
    "rounds that were not open": ("next_round", lambda d: d.update(next_round="4")),
    "a uid twice": ("miners", lambda d: d["miners"][0].update(uid=d["miners"][1]["uid"])),
    "a reason": ("miners[0].unpaid.declarative", lambda d: d["miners"][0].update(unpaid={"declarative": "unproven"})),
}


@pytest.mark.parametrize("case", FORGERIES)
def test_a_validator_that_moves_a_vector_is_found_out(log: tuple[str, bytes, bytes], tmp_path: Path, case: str) -> None:
    path, change = FORGERIES[case]
    data = with_weights(log[1], 1, change)
    line = [i for i, one in enumerate(lines_of(data), 1) if one.startswith(b'{"weights":')][1]
    with pytest.raises(FaultError) as caught:
        verified(data, tmp_path)
    assert (caught.value.line, caught.value.kind, caught.value.path) == (line, "weights", path)


def test_an_unpaid_reason_that_is_dropped_is_found_out(log: tuple[str, bytes, bytes], tmp_path: Path) -> None:
    with pytest.raises(FaultError, match=r"unpaid\.declarative: paid, where (undeclared|failure_rate) follows"):
        verified(with_weights(log[1], 1, _pay_all), tmp_path)


SENT = WeightsLink(1, 0, 7, 100, "aa", "1.0.0", None, "0" * 64)
KEPT = msgspec.structs.replace(SENT, reason="weights_dry_run")
ROW = WeightsDocument(
    ("assessments", "workflows"),
    "3",
    "4",
    None,
    Owner("Seven", 7),
    (WeightedMiner("Four", 4, 1.0, 0.0, 0.99),),
    0.0,
    0.01,
    ((4, 65_535), (7, 9)),
)


@pytest.mark.parametrize(
    ("fates", "path"),
    [
        ([(1, "unknown", None), (1, "expired", None), (3, "confirmed", 101)], None),
        ([(1, "confirmed", None)], "fate.block"),
        ([(1, "confirmed", 99)], "fate.block"),
        ([(2, "confirmed", 101)], "fate.weights"),
        ([(0, "confirmed", 101)], "fate.weights"),
        ([(9, "confirmed", 101)], "fate.weights"),
        ([(1, "confirmed", 101), (1, "expired", None)], "fate.state"),
        ([(1, "confirmed", 101), (3, "confirmed", 102)], "fate.state"),
    ],
)
def test_a_fate_follows_what_was_sent_and_an_epoch_is_confirmed_once(
    fates: list[tuple[int, FateState, int | None]], path: str | None
) -> None:
    found = Fates()
    found.begin(0)
    for sequence, link in ((1, SENT), (2, KEPT), (3, SENT)):
        found.sent(sequence, link, ROW)

    def tell() -> None:
        for weights, state, block in fates:
            found.add(5, FateLink(weights, state, None, block))

    if path is None:
        tell()
        assert found.newest == {(1, 0): Confirmed(1, 0, 7, 3, 101, ROW.row, ("Four", "Seven"))}
        return
    with pytest.raises(WrongReceiptError) as caught:
        tell()
    assert caught.value.path == path


def test_a_row_on_chain_is_held_against_the_newest_confirmed_vector(
    log: tuple[str, bytes, bytes], tmp_path: Path
) -> None:
    found = verified(log[1], tmp_path)
    row = ChainRow(1, 0, 3, 120, ((4, 65_535), (7, 9)))
    assert row_fault(found, row) == "netuid 1, mechanism 0: the file has no confirmed vector"
    changed_row = msgspec.structs.replace
    found = replace(found, confirmed=(Confirmed(1, 0, 7, 3, 101, row.row, ("Four", "Seven")),))
    assert row_fault(found, row) is None
    assert "block 100" in (row_fault(found, changed_row(row, block=100)) or "")
    assert "uid 7: 10 on chain, 9 in" in (row_fault(found, changed_row(row, row=((4, 65_535), (7, 10)))) or "")
