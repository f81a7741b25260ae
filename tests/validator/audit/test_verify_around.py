"""A weight is paid to a uid: whose that is follows from the snapshots of the rounds around a vector (SPEC 16, D-28)."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from audit_file import export, forged, lines_of, with_document, with_weights
from weights_world import PayWorld
from world import VALIDATOR

from sssa.log.lines import FaultError, Line
from sssa.log.verify import verify_file
from sssa.log.verify_report import Verified
from sssa.log.weight_vectors import RoundSnapshots
from sssa.protocol.receipt import Receipt, WeightsDocument, WeightsLink
from sssa.protocol.round import MetagraphSnapshot, Neuron
from sssa.protocol.weight_rows import shares_of, to_u16
from sssa.scoring import kind_weights, version
from validator.rounds.receipts import close_epoch
from validator.store import open_store

BY = version("1.0.0")
FIRST, BETWEEN, LAST = range(3)
Weights = dict[str, Any]
Change = Callable[[Weights], object]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Three vectors: the second one is between rounds in which nobody came or went, behind the third is none."""
    return asyncio.run(_play(tmp_path_factory.mktemp("around")))


async def _play(folder: Path) -> bytes:
    async with open_store(f"sqlite:///{folder}/store.sqlite", create=True) as store:
        pay = PayWorld(store)
        for rounds in (2, 2, 1):
            await pay.rounds(rounds)
            await pay.vector()
            await pay.world.clock.advance(20.0)
        assert await close_epoch(store, VALIDATOR, pay.world.clock)
        return (await export(store, folder / "log.jsonl")).read_bytes()


def verified(data: bytes, folder: Path) -> Verified:
    path = folder / "file.jsonl"
    path.write_bytes(data)
    return verify_file(path)


def derived(change: Change) -> Change:
    """Return the change with weights, what is left over and the row made anew from it, as its forger would."""

    def lie(plain: Weights) -> None:
        change(plain)
        document = msgspec.convert(plain, WeightsDocument)
        assessed, planned = ({one.hotkey: getattr(one, kind) for one in document.miners} for kind in document.kinds)
        plan = kind_weights(BY, document.kinds, assessed, planned, document.workflow_share or 0.0)
        for one in plain["miners"]:
            one["weight"] = plan.weights.get(one["hotkey"], 0.0)
        owner = None if document.owner is None else document.owner.uid
        uids = {one.hotkey: one.uid for one in document.miners}
        plain["unallocated"] = plan.unallocated
        plain["row"] = [list(pair) for pair in to_u16(shares_of(plan.weights, plan.unallocated, uids, owner)).items()]

    return lie


def swapped(document: Weights) -> None:
    one, other = document["miners"][:2]
    one["uid"], other["uid"] = other["uid"], one["uid"]


def heir(document: Weights) -> None:
    """Say that a miner owns the subnet, and takes what is left over."""
    one = document["miners"][0]
    document["owner"] = {"hotkey": one["hotkey"], "uid": one["uid"]}


FORGERIES: dict[str, tuple[str, Change]] = {
    "two miners' uids swapped": ("miners[0].uid", swapped),
    "the uid of somebody else": ("miners[0].uid", lambda d: d["miners"][0].update(uid=99)),
    "a miner left out": ("miners", lambda d: d["miners"].pop(1)),
    "another owner": ("owner", heir),
}


def test_what_the_rounds_on_both_sides_say_is_nobodys_word(log: bytes, tmp_path: Path) -> None:
    found = verified(log, tmp_path)
    assert (found.vectors, found.vectors_recomputed) == (3, 3)
    assert not {name for name in found.on_word if "vector" in name} - {"epochs of vectors"}
    assert found.on_word["epochs of vectors"] == 1  # the last vector is of an epoch without a round behind it
    assert found.versions == {"1.0.0": 5}


@pytest.mark.parametrize("case", FORGERIES)
def test_a_weight_that_goes_to_another_uid_is_found(log: bytes, tmp_path: Path, case: str) -> None:
    path, change = FORGERIES[case]
    data = with_weights(log, BETWEEN, derived(change))
    line = [i for i, one in enumerate(lines_of(data), 1) if one.startswith(b'{"weights":')][BETWEEN]
    with pytest.raises(FaultError, match="the rounds before and after it") as caught:
        verified(data, tmp_path)
    assert (caught.value.line, caught.value.kind, caught.value.path) == (line, "weights", path)


def test_what_no_later_round_says_is_counted_as_the_validators_word(log: bytes, tmp_path: Path) -> None:
    assert verified(with_weights(log, LAST, derived(swapped)), tmp_path).on_word["uids of vectors"] == 2


def test_who_came_or_went_between_two_rounds_may_have_either_uid(log: bytes, tmp_path: Path) -> None:
    swap = with_weights(log, BETWEEN, derived(swapped))

    def gone(document: Weights) -> None:
        """Swap them in the rounds behind as well: somebody came and went."""
        first, second = sorted(miner["hotkey"] for miner in document["miners"])[:2]
        neurons = {one["hotkey"]: one for one in document["snapshot"]["neurons"]}
        neurons[first]["uid"], neurons[second]["uid"] = neurons[second]["uid"], neurons[first]["uid"]

    data = with_document(swap, "input", gone, 4)
    last = with_weights(data, LAST, derived(swapped))
    assert "uids of vectors" not in verified(last, tmp_path).on_word


def test_a_vector_of_a_block_before_the_one_of_the_vector_before_it_is_found(log: bytes, tmp_path: Path) -> None:
    number = [i for i, one in enumerate(_receipts(log)) if b'"kind":"weights"' in one][BETWEEN]

    def older(receipt: Receipt) -> Receipt:
        assert isinstance(receipt.weights, WeightsLink)
        return msgspec.structs.replace(receipt, weights=msgspec.structs.replace(receipt.weights, block=0))

    with pytest.raises(FaultError, match=r"is before .*, of the mechanism's vector before it") as caught:
        verified(forged(log, number, older), tmp_path)
    assert (caught.value.kind, caught.value.path) == ("receipt", "weights.block")


def test_a_vector_of_an_epoch_that_cannot_be_then_is_found(log: bytes, tmp_path: Path) -> None:
    number = [i for i, one in enumerate(_receipts(log)) if b'"kind":"weights"' in one][BETWEEN]

    def other(receipt: Receipt) -> Receipt:
        assert isinstance(receipt.weights, WeightsLink)
        link = msgspec.structs.replace(receipt.weights, epoch=receipt.weights.epoch + 7)
        return msgspec.structs.replace(receipt, weights=link)

    with pytest.raises(FaultError, match="between rounds in epochs") as caught:
        verified(forged(log, number, other), tmp_path)
    assert (caught.value.kind, caught.value.path) == ("receipt", "weights.epoch")


def _receipts(log: bytes) -> list[bytes]:
    return [line for line in lines_of(log) if line.startswith(b'{"receipt":')]


def test_a_round_of_another_subnet_is_found(log: bytes, tmp_path: Path) -> None:
    def elsewhere(document: Weights) -> None:
        document["snapshot"]["netuid"] = 2

    other = with_document(log, "input", elsewhere, 1)
    with pytest.raises(FaultError, match="the rounds before are of 1") as caught:
        verified(other, tmp_path)
    assert (caught.value.kind, caught.value.path) == ("input", "snapshot.netuid")


def test_a_later_round_that_is_said_to_have_been_open_is_counted(log: bytes, tmp_path: Path) -> None:
    """Its exclusions would count as exclusions before the vector."""
    found = verified(with_weights(log, BETWEEN, lambda document: document.update(next_round="5")), tmp_path)
    assert found.on_word["rounds open at a vector and frozen behind it"] == 1


def test_a_mechanism_that_pays_for_something_else_for_once_is_counted(log: bytes, tmp_path: Path) -> None:
    def assessments(document: Weights) -> None:
        document.update(kinds=["assessments"], workflow_share=None)

    found = verified(with_weights(log, LAST, assessments), tmp_path)
    assert found.on_word["vectors of other kinds"] == 1
    assert [one.kinds for one in found.mechanisms] == [("assessments",)]


def test_a_round_that_was_frozen_late_on_an_older_snapshot_settles_nothing() -> None:
    """Its tasks were on their way at the vector; the next round shows the state at the vector's block."""
    around, nobody = RoundSnapshots(), frozenset[str]()
    around.add(snapshot(10, 1, "a"))
    around.compare(Line(4, "weights", b"", b""), LINK, EMPTY, nobody)
    for block, epoch, on_word in ((15, 1, 1), (25, 2, 0)):
        around.add(snapshot(block, epoch, "a"))
        around.settle()
        assert around.waiting()["epochs of vectors"] == on_word
    around.compare(Line(9, "weights", b"", b""), msgspec.structs.replace(LINK, block=30, epoch=9), EMPTY, nobody)
    around.add(snapshot(35, 3, "a"))
    with pytest.raises(FaultError, match="9, between rounds in epochs 2 and 3"):
        around.settle()


LINK = WeightsLink(1, 0, 2, 20, "aa", "1.0.0", None, "0" * 64)
EMPTY = WeightsDocument(("assessments",), "0", "1", None, None, (), None, 0.0, ())


def snapshot(block: int, epoch: int, *hotkeys: str) -> MetagraphSnapshot:
    neurons = tuple(Neuron(one, uid, 1.0, validator_permit=False, axon=None) for uid, one in enumerate(hotkeys))
    return MetagraphSnapshot(1, block, "aa", 0, epoch, 9, None, neurons)
