"""Time in a log continues: receipts, blocks and their times; and what came whole and was not paid is counted."""

import asyncio
import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from audit_file import export, fault_of, forged, receipts, verified, with_document
from cli_store import called
from weights_world import PayWorld
from world import World, honest, on_virtual_time, tasks_of_all_types

from sssa.log.verify import verify_file
from sssa.protocol.answer import Dispatch
from sssa.protocol.receipt import Receipt
from sssa.protocol.signatures import Signer
from validator.chain.interface import BehindError
from validator.miners.scripted import ScriptedReply
from validator.store import Store, open_store
from validator.tasks.source import MemorySource

LATE = Signer.from_uri("//Miner//0").hotkey


def script(signer: Signer, dispatch: Dispatch) -> ScriptedReply:
    reply = honest(signer, dispatch)
    return replace(reply, seconds=dispatch.deadline_s + 1) if signer.hotkey == LATE else reply


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("log")

    async def play() -> bytes:
        async with open_store(f"sqlite:///{folder}/store.sqlite", create=True) as store:
            world = World(store, miners=5, source=MemorySource(tasks_of_all_types(each=1)[:2]), script=script)
            for _ in range(3):
                await on_virtual_time(world, world.service.one_round())
            return (await export(store, folder / "log.jsonl")).read_bytes()

    return asyncio.run(play())


def issued(at: str) -> Any:
    return lambda receipt: msgspec.structs.replace(receipt, issued_at=at)


def test_a_receipt_before_the_one_before_it_is_found(log: bytes, tmp_path: Path) -> None:
    fault = fault_of(tmp_path, forged(log, 3, issued("2020-01-01T00:00:00Z")))
    assert (fault.kind, fault.path) == ("receipt", "issued_at")
    assert "is before" in fault.what


@pytest.mark.parametrize("name", ["block", "block_time"])
def test_a_round_of_an_earlier_block_is_found(log: bytes, tmp_path: Path, name: str) -> None:
    def back(document: dict[str, Any]) -> None:
        document["snapshot"][name] = 0

    data = with_document(log, "input", back, 2)
    if name == "block":

        def named(receipt: Receipt) -> Receipt:
            assert receipt.round is not None
            return msgspec.structs.replace(receipt, round=msgspec.structs.replace(receipt.round, block=0))

        data = forged(data, 3, named)
    fault = fault_of(tmp_path, data)
    assert (fault.kind, fault.path) == ("input", f"snapshot.{name}")
    assert "is before" in fault.what


def test_a_receipt_of_the_future_is_a_warning_and_no_fault(log: bytes, tmp_path: Path) -> None:
    file = tmp_path / "file.jsonl"
    file.write_bytes(forged(log, 3, issued("2999-01-01T00:00:00Z")))
    done = called("audit", "verify", str(file))
    assert (done.returncode, done.stdout.splitlines()[1][:60]) == (
        0,
        "warning: the last receipt was issued at 2999-01-01T00:00:00Z",
    )
    done = called("audit", "verify", str(file), "--json")
    assert (done.returncode, "in the future of this machine" in done.stdout) == (0, True)
    file.write_bytes(log)
    assert "warning" not in called("audit", "verify", str(file)).stdout


def test_answers_that_came_whole_and_were_late_are_a_count_of_their_own(log: bytes, tmp_path: Path) -> None:
    plan = [line for line in log.splitlines() if line.startswith(b'{"plan":')][1]
    groups = json.loads(plan)["plan"]["groups"]
    places = [(i, [*one["primaries"], *one["auditors"]].index(LATE)) for i, one in enumerate(groups)]

    def whole(document: dict[str, Any]) -> None:
        for i, j in places:
            document["raw"][i][j] = ["ab" * 32, 7, True]

    assert verified(tmp_path, log).whole_unpaid == {}
    assert verified(tmp_path, with_document(log, "answers", whole, 1)).whole_unpaid == {"late": len(places)}


async def test_a_clock_that_is_set_back_never_shows_in_the_log(store: Store, tmp_path: Path) -> None:
    world = World(store, miners=3, source=MemorySource(tasks_of_all_types(each=1)[:1]))
    await on_virtual_time(world, world.service.one_round())
    world.clock._start -= timedelta(hours=2)
    await on_virtual_time(world, world.service.one_round())
    times = [receipt.issued_at for receipt in await receipts(store)]
    assert times == sorted(times)
    verify_file(await export(store, tmp_path / "log.jsonl"))


async def test_no_round_and_no_vector_is_of_a_block_before_the_last_one(store: Store) -> None:
    world = PayWorld(store)
    await world.rounds(2)
    async with store.read() as tx:
        stored = await tx.rounds.get(1)
    assert stored is not None
    assert stored.input is not None
    older = msgspec.structs.replace(stored.input.snapshot, block=stored.input.snapshot.block - 1)
    with pytest.raises(BehindError, match="and round 1 is of block"):
        await world.world.preparer.prepare(older)
