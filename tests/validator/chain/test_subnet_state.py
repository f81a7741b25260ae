import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from localnet.chain.subnet import ChainStateError, SimulatedSubnet, SubnetRules, load_state, save_state
from sssa.protocol.round import Axon
from sssa.sources import VirtualClock
from validator.chain.interface import ChainError

START = datetime(2026, 1, 1, tzinfo=UTC)
RULES = SubnetRules(
    seed="state", genesis=int(START.timestamp()), block_time_s=1.0, weights_rate_limit=0, owner_hotkey="Owner"
)


def built(file: Path | None) -> SimulatedSubnet:
    subnet = SimulatedSubnet.create(RULES, VirtualClock(START), file)
    subnet.register("Validator", stake_tao=12.5, validator_permit=True)
    subnet.register("miner", axon=Axon("127.0.0.1", 8091))
    subnet.set_weights("Validator", 0, {1: 1.0})
    return subnet


async def test_a_restart_sees_the_same_subnet_at_a_later_block(tmp_path: Path) -> None:
    file = tmp_path / "chain.json"
    before = built(file)
    clock = VirtualClock(START)
    await clock.advance(30.0)
    after = SimulatedSubnet.open(file, clock)
    assert after.state == before.state
    assert after.weights(0, 0) == {1: 65535}
    assert after.blocks.number() == 30
    assert after.blocks.hash(30) == before.blocks.hash(30)
    assert after.snapshot().neurons == before.snapshot().neurons


def test_every_change_is_in_the_file_when_the_call_returns(tmp_path: Path) -> None:
    file = tmp_path / "chain.json"
    subnet = built(file)
    changes: list[Any] = [
        lambda: subnet.register("other"),
        lambda: subnet.set_stake("other", 3.0),
        lambda: subnet.set_permit("other", validator_permit=True),
        lambda: subnet.serve_axon("other", Axon("10.0.0.1", 9000)),
        lambda: subnet.set_weights("other", 0, {0: 0.25, 1: 0.75}),
        lambda: subnet.deregister("other"),
    ]
    for change in changes:
        before = load_state(file)
        change()
        assert load_state(file) == subnet.state != before


def test_saving_leaves_nothing_beside_the_file_and_a_failure_leaves_the_old_one(tmp_path: Path) -> None:
    file = tmp_path / "chain.json"
    subnet = built(file)
    assert [entry.name for entry in tmp_path.iterdir()] == ["chain.json"]
    with pytest.raises(ChainStateError, match="No such file or directory"):
        save_state(subnet.state, tmp_path / "absent" / "chain.json")
    folder = tmp_path / "taken"
    folder.mkdir()
    (folder / "inside").touch()
    with pytest.raises(ChainStateError):
        save_state(subnet.state, folder)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["chain.json", "taken"]


def faulty(document: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    at: Any = document
    *steps, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    for step in steps:
        at = at[step]
    at[last] = value
    return document


@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        ("state_version", "2", "state_version"),
        ("surplus", 1, "surplus"),
        ("rules.tempo", 0, "rules.tempo"),
        ("rules.block_time_s", 0, "rules.block_time_s"),
        ("rules.max_uids", 1, "a uid is not below rules.max_uids"),
        ("neurons.0.stake_tao", -1, "neurons[0].stake_tao"),
        ("neurons.0.stake_tao", "1", "neurons[0].stake_tao"),
        ("neurons.0.hotkey", "with space", "neurons[0].hotkey"),
        ("neurons.0.hotkey", "miner", "two neurons share a hotkey"),
        ("neurons.0.uid", 1, "two neurons share a uid"),
        ("neurons.1.axon.port", 0, "not from 1 to 65535 - at `neurons[1].axon.port`"),
        ("neurons.1.axon.ip", "evil.example", "not an address - at `neurons[1].axon.ip`"),
        ("weights.0.uid", 7, "a row of an unregistered uid"),
        ("weights.0.mechid", 1, "no such mechanism"),
        ("weights.0.targets", [[1, 5], [1, 6]], "a target twice"),
        ("weights.0.targets", [[1, 0]], "weights[0].targets"),
        ("weights.0.targets", [[1, 65536]], "weights[0].targets"),
    ],
)
def test_a_file_that_is_no_state_is_refused_by_field(tmp_path: Path, path: str, value: Any, text: str) -> None:
    file = tmp_path / "chain.json"
    built(file)
    file.write_text(json.dumps(faulty(json.loads(file.read_text()), path, value)))
    with pytest.raises(ChainStateError) as caught:
        SimulatedSubnet.open(file, VirtualClock(START))
    assert text in str(caught.value)
    assert str(file) in str(caught.value)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff", b'{"state_version":"1","state_version":"1"}'])
def test_files_that_are_no_json_of_ours_are_refused(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "chain.json"
    file.write_bytes(data)
    with pytest.raises(ChainStateError):
        load_state(file)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ChainStateError, match=r"absent\.json: No such file"):
        load_state(tmp_path / "absent.json")


def test_values_built_in_code_are_checked_too() -> None:
    with pytest.raises(ChainStateError, match="tempo"):
        SimulatedSubnet.create(SubnetRules(seed="x", genesis=0, tempo=0), VirtualClock(START))
    subnet = built(None)
    for stake in (-1.0, float("nan"), float("inf")):
        with pytest.raises(ChainError, match="stake_tao"):
            subnet.set_stake("miner", stake)
    with pytest.raises(ChainError, match="hotkey"):
        subnet.register("not a key")
    with pytest.raises(ChainError, match=r"axon\.ip"):
        subnet.serve_axon("miner", Axon("localhost", 80))
    assert [neuron.hotkey for neuron in subnet.snapshot().neurons] == ["Validator", "miner"]
