"""Storage of an in-memory subtensor node, made from a simulated subnet."""

from collections.abc import Callable, Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any, Final

from subtensor_steps import Stepping

from localnet.chain.subnet import SimulatedSubnet
from sssa.protocol.round import Axon
from sssa.protocol.weight_rows import U16_MAX
from validator.chain.interface import ValidatorFigures, WeightsResult

RAO: Final = 1_000_000_000
MAX_SUBNETS: Final = 4_096
NOBODY: Final = "5C4hrfjw9DjXZTzV3MwzrrAr9P1MJhSrvWGWqi1eSuyUpnhM"


def _column(subnet: SimulatedSubnet, value: Callable[[ValidatorFigures], int]) -> list[int]:
    """Return one figure of all neurons, 0 for those without a permit."""
    figures = {one.uid: value(one) for one in subnet.validators()}
    return [figures.get(neuron.uid, 0) for neuron in subnet.snapshot().neurons]


_READS: Final[dict[str, Callable[[SimulatedSubnet, list[Any]], Any]]] = {
    "BlockAtRegistration": lambda subnet, params: next(
        (subnet.registered_at(n.uid) for n in subnet.snapshot().neurons if n.uid == params[1]), 0
    ),
    "CommitRevealWeightsEnabled": lambda subnet, _: subnet.rules.reveal_epochs > 0,
    "LastUpdate": lambda subnet, params: [
        subnet.last_update(params[0] // MAX_SUBNETS, neuron.uid) for neuron in subnet.snapshot().neurons
    ],
    "MaxWeightsLimit": lambda subnet, _: subnet.rules.max_weights_limit,
    "MechanismCountCurrent": lambda subnet, _: subnet.rules.mechanisms,
    "MinAllowedWeights": lambda subnet, _: subnet.rules.min_allowed_weights,
    "NetworkRegisteredAt": lambda _, __: 0,
    "NetworksAdded": lambda _, __: True,
    "RevealPeriodEpochs": lambda subnet, _: subnet.rules.reveal_epochs,
    "SubnetEpochConsensus": lambda _, __: "Yuma",
    "SubnetworkN": lambda subnet, _: len(subnet.snapshot().neurons),
    "Uids": lambda subnet, params: next((n.uid for n in subnet.snapshot().neurons if n.hotkey == params[1]), None),
    "Weights": lambda subnet, params: list(subnet.weights(params[0] // MAX_SUBNETS, params[1]).items()),
    "ValidatorPermit": lambda subnet, _: [neuron.validator_permit for neuron in subnet.snapshot().neurons],
    "ValidatorTrust": lambda subnet, _: _column(subnet, lambda one: round(one.trust * U16_MAX)),
    "Dividends": lambda subnet, _: _column(subnet, lambda one: round(one.dividends * U16_MAX)),
    "Emission": lambda subnet, _: _column(subnet, lambda one: round(one.emission_alpha * RAO)),
    "WeightsSetRateLimit": lambda subnet, _: subnet.rules.weights_rate_limit,
    "WeightsVersionKey": lambda subnet, _: subnet.rules.version_key,
}

_STEPPING: Final[dict[str, Callable[[Stepping], int]]] = {
    "BlocksSinceLastStep": lambda state: state.since,
    "LastEpochBlock": lambda state: state.last,
    "PendingEpochAt": lambda state: state.pending,
    "SubnetEpochIndex": lambda state: state.epoch,
    "Tempo": lambda state: state.tempo,
}


def stored(subnet: SimulatedSubnet, stepping: Stepping, name: str, params: list[Any]) -> Any:
    """Return one storage item; of other subnets there is nothing."""
    if name == "StakeThreshold":
        return int(subnet.rules.min_stake_tao * RAO)
    if (params[0] - subnet.rules.netuid) % MAX_SUBNETS:
        return False if name == "NetworksAdded" else None
    return _STEPPING[name](stepping) if name in _STEPPING else _READS[name](subnet, params)


def pallet_error(result: WeightsResult) -> str:
    """Return the pallet's name for the reason of a refusal."""
    return result.message.partition("(")[2].partition(")")[0]


def commitment(subnet: SimulatedSubnet, params: list[Any]) -> dict[str, Any] | None:
    """Return what Commitments.CommitmentOf holds for a netuid and a hotkey."""
    netuid, hotkey = params
    found = subnet.commitment(hotkey) if netuid == subnet.rules.netuid else None
    if found is None or found.content is None:
        return None
    fields = [{f"Raw{len(found.content)}": "0x" + found.content.hex()}]
    return {"deposit": 0, "block": found.block, "info": {"fields": fields}}


def content_of(params: Mapping[str, Any]) -> bytes:
    """Return what a `set_commitment` call commits to: one plain field, whose name tells its length."""
    ((variant, value),) = params["info"]["fields"][0].items()
    content = value if isinstance(value, bytes) else bytes.fromhex(value.removeprefix("0x"))
    assert len(params["info"]["fields"]) == 1
    assert variant == f"Raw{len(content)}"
    return content


def committed(subnet: SimulatedSubnet, index: int) -> list[tuple[int, list[tuple[str, int, str, int]]]]:
    """Return everybody's unrevealed commitments as the storage map has them: by epoch, in no order of blocks."""
    mechid, other = divmod(index - subnet.rules.netuid, MAX_SUBNETS)
    assert not other
    rows = [(n.hotkey, block) for n in subnet.snapshot().neurons for block in subnet.commits(mechid, n.hotkey)]
    length = subnet.rules.tempo + 1
    return [(block // length, [(hotkey, block, "0x00", 1)]) for hotkey, block in reversed(rows)]


def metagraph(subnet: SimulatedSubnet, stepping: Stepping) -> dict[str, Any]:
    """Return the runtime's answer to get_metagraph, as far as the SDK needs it."""
    snapshot = subnet.snapshot()
    neurons = snapshot.neurons
    assert [neuron.uid for neuron in neurons] == list(range(len(neurons)))
    return {
        "netuid": snapshot.netuid,
        "block": snapshot.block,
        "tempo": stepping.tempo,
        "last_step": snapshot.block - stepping.since,
        "blocks_since_last_step": stepping.since,
        "owner_hotkey": snapshot.owner_hotkey or NOBODY,
        "owner_coldkey": NOBODY,
        "network_registered_at": 0,
        "hotkeys": [neuron.hotkey for neuron in neurons],
        "coldkeys": [neuron.hotkey for neuron in neurons],
        "validator_permit": [neuron.validator_permit for neuron in neurons],
        "last_update": [neuron.last_update for neuron in neurons],
        "total_stake": [int(neuron.stake_tao * RAO) for neuron in neurons],
        "active": [True for _ in neurons],
        "axons": [_axon(neuron.axon) for neuron in neurons],
    }


def announced(params: Mapping[str, Any]) -> Axon:
    """Return the axon that a `serve_axon` call announces."""
    address = IPv4Address(params["ip"]) if params["ip_type"] == 4 else IPv6Address(params["ip"])
    return Axon(str(address), params["port"])


def _axon(axon: Axon | None) -> dict[str, int]:
    if axon is None:
        return {"ip": 0, "port": 0, "ip_type": 4}
    address = ip_address(axon.ip)
    return {"ip": int(address), "port": axon.port, "ip_type": address.version}
