"""A development chain in memory, below the real SDK: //Alice is root, and a subnet begins as one on fast blocks does.

What the pallets check, in their words: the freeze window before the end of an epoch, the delay before a subnet starts,
trade in a token that is not enabled, slots, addresses that nobody may announce. Permits come with the epoch's step.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, cast

import bittensor as bt
import msgspec
from bittensor._generated.errors import ERRORS
from bittensor.result import ChainError
from subtensor_node import MemorySubstrate, Node
from subtensor_state import RAO, announced
from subtensor_steps import Steps

from localnet.chain.subnet import SimulatedSubnet, SubnetRules
from sssa.protocol.signatures import Signer, verify
from sssa.sources import SystemClock
from validator.chain.connection import Substrate

ALICE: Final = Signer.from_uri("//Alice").hotkey
FIRST_TEMPO: Final = 10  # of a subnet that is made on fast blocks
_INDICES: Final = {info.name: index for index, info in ERRORS.items()}
# What root sets for a subnet, and the field of the simulated rules that it is.
_RULES: Final[Mapping[str, Callable[[Any], Mapping[str, Any]]]] = {
    "sudo_set_commit_reveal_weights_enabled": lambda p: {"reveal_epochs": int(p["enabled"])},
    "sudo_set_weights_set_rate_limit": lambda p: {"weights_rate_limit": p["weights_set_rate_limit"]},
    "sudo_set_weights_version_key": lambda p: {"version_key": p["weights_version_key"]},
    "sudo_set_stake_threshold": lambda p: {"min_stake_tao": p["min_stake"] / RAO},
}
SudoReport = Literal["by the node", "in the event"]


class Refused(Exception):  # noqa: N818 - what a pallet says
    """A call fails with a pallet's error."""


class DevChain(Node):
    """The node; `subnet` is the newest one, number 1 before any is made.

    Attributes:
        sudo_key: who is root.
        sudo_report: how a failed call in `sudo` is reported: as this SDK's own transport does, or in the event alone.
        freeze_window, start_delay: as the pallet has them, blocks.
        calls: what reached a block, in order, with whether it succeeded.
        never: calls in `sudo` that fail with BadOrigin.
    """

    def __init__(
        self, block_s: float, *, lacks: frozenset[str] = frozenset(), sudo_report: SudoReport = "by the node"
    ) -> None:
        clock = SystemClock()
        genesis = int(clock.now().timestamp())
        rules = SubnetRules(seed="dev", genesis=genesis, block_time_s=block_s, tempo=FIRST_TEMPO)
        super().__init__(SimulatedSubnet.create(rules, clock), clock, lacks=lacks)
        self.sudo_report = sudo_report
        self.sudo_key: str | None = ALICE
        self.freeze_window = 10
        self.start_delay = 10
        self.calls: list[tuple[str, bool]] = []
        self.never: set[str] = set()
        self.genesis_hash = self.subnet.blocks.identity
        self._registered_at = 0
        self.first_emission: int | None = None
        self._steps = 0

    def connect(self) -> Substrate:
        return cast("Substrate", DevSubstrate(self))

    def step(self) -> None:
        """Give permits to who has stake, once for each epoch."""
        steps = self.stepping().steps
        if steps != self._steps:
            self._steps = steps
            for neuron in self.subnet.snapshot().neurons:
                if neuron.validator_permit != (neuron.stake_tao > 0):
                    self.subnet.set_permit(neuron.hotkey, neuron.stake_tao > 0)

    def root(self, name: str, params: Mapping[str, Any]) -> None:
        """Do what root asks (Refused: the pallet does not let it)."""
        if name in self.never:
            raise Refused("BadOrigin")
        if "netuid" in params:
            self._require_window(params["netuid"])
        if name == "sudo_set_admin_freeze_window":
            self.freeze_window = params["window"]
        elif name == "sudo_set_start_call_delay":
            self.start_delay = params["delay"]
        elif name == "sudo_set_tempo":
            self.steps.set_tempo(self.subnet.blocks.number(), params["tempo"])
        elif name in _RULES:
            self._change(**_RULES[name](params))

    def signed(self, name: str, params: Mapping[str, Any], who: str) -> None:
        """Do what an account asks (Refused: the pallet does not let it)."""
        getattr(self, f"_{name}")(params, who)

    def _require_window(self, netuid: int) -> None:
        if netuid != self.subnet.rules.netuid:
            raise Refused("SubnetNotExists")
        now = self.subnet.blocks.number()
        if (self.steps.planned(now) or 0) - now < self.freeze_window:
            raise Refused("AdminActionProhibitedDuringWeightsWindow")

    def _change(self, **rules: Any) -> None:
        state = self.subnet.state
        changed = msgspec.structs.replace(state, rules=msgspec.structs.replace(state.rules, **rules))
        self.subnet = SimulatedSubnet(changed, self.clock)

    def _register_network(self, params: Mapping[str, Any], _who: str) -> None:
        owner = params["hotkey"]
        rules = self.subnet.rules
        self.subnet = SimulatedSubnet.create(
            msgspec.structs.replace(rules, netuid=rules.netuid + 1, owner_hotkey=owner, reveal_epochs=1), self.clock
        )
        self.subnet.register(owner)
        self._registered_at = self.subnet.blocks.number()
        self.steps = Steps(rules.netuid + 1, FIRST_TEMPO, scheduled=True, start=self._registered_at)
        self._steps = 0
        self.first_emission = None

    def _start_call(self, _params: Mapping[str, Any], who: str) -> None:
        if who != ALICE:
            raise Refused("NotSubnetOwner")
        now = self.subnet.blocks.number()
        if self.first_emission is not None:
            raise Refused("FirstEmissionBlockNumberAlreadySet")
        if now < self._registered_at + self.start_delay:
            raise Refused("NeedWaitingMoreBlocksToStarCall")
        self.first_emission = now + 1

    def _burned_register(self, params: Mapping[str, Any], _who: str) -> None:
        if self._seat(params["hotkey"]) is not None:
            raise Refused("HotKeyAlreadyRegisteredInSubNet")
        self.subnet.register(params["hotkey"])

    def _add_stake(self, params: Mapping[str, Any], _who: str) -> None:
        if self.first_emission is None:
            raise Refused("SubtokenDisabled")
        seat = self._seat(params["hotkey"])
        if seat is None:
            raise Refused("HotKeyAccountNotExists")
        self.subnet.set_stake(params["hotkey"], seat.stake_tao + params["amount_staked"] / RAO)

    def _serve_axon(self, params: Mapping[str, Any], who: str) -> None:
        axon = announced(params)
        if axon.ip in ("127.0.0.1", "::1", "0.0.0.0"):
            raise Refused("InvalidIpAddress")
        if self._seat(who) is None:
            raise Refused("HotKeyNotRegisteredInNetwork")
        self.subnet.serve_axon(who, axon)

    def _seat(self, hotkey: str) -> Any:
        return self.subnet.snapshot().by_hotkey(hotkey)


class DevSubstrate(MemorySubstrate):
    """The SDK's access to a `DevChain`."""

    node: DevChain

    def _stored(self, module: str, name: str, params: list[Any], block_hash: str | None) -> Any:
        self.node.step()
        if (module, name) == ("Sudo", "Key"):
            return self.node.sudo_key
        if (module, name) == ("System", "BlockHash"):
            return "0x" + self.node.genesis_hash
        if name == "FirstEmissionBlockNumber":
            return self.node.first_emission
        return super()._stored(module, name, params, block_hash)

    async def query_map(
        self, module: str, name: str, params: list[Any] | None = None, block_hash: str | None = None
    ) -> list[tuple[Any, Any]]:
        if name == "NetworksAdded":
            return [(netuid, True) for netuid in range(self.node.subnet.rules.netuid + 1)]
        return await super().query_map(module, name, params, block_hash)

    async def submit(self, call: Any, keypair: Any, **options: Any) -> bt.ExtrinsicResult:
        if call.function.startswith(("set_", "commit_")):
            self.node.step()
            return await super().submit(call, keypair, **options)
        await self._reach()
        payload = repr(call).encode()
        assert verify(payload, "0x" + bytes(keypair.sign(payload)).hex(), keypair.ss58_address, "sr25519")
        blocks = self.node.subnet.blocks
        await blocks.wait_for(blocks.number() + 1)
        self.node.step()
        return self._applied(call, keypair.ss58_address)

    def _applied(self, call: Any, who: str) -> bt.ExtrinsicResult:
        inner = call.params["call"] if call.function == "sudo" else call
        refused = self._done(call, inner, who)
        self.node.calls.append((inner.function, refused is None))
        number = self.node.subnet.blocks.number()
        if refused is None:
            return bt.ExtrinsicResult(success=True, message="Success", extrinsic_id=f"{number}-0002")
        if call is not inner and self.node.sudo_report == "in the event":
            found = [_sudid(refused)]
            return bt.ExtrinsicResult(success=True, message="Success", extrinsic_id=f"{number}-0002", events=found)
        info = ERRORS.get(_INDICES.get(refused, (-1, -1)))
        error = ChainError(info.docs if info else refused, refused)
        return bt.ExtrinsicResult(success=False, message=str(error), extrinsic_id=f"{number}-0002", error=error)

    def _done(self, call: Any, inner: Any, who: str) -> str | None:
        try:
            if call is inner:
                self.node.signed(call.function, call.params, who)
            elif who != self.node.sudo_key:
                return "RequireSudo"
            else:
                self.node.root(inner.function, inner.params)
        except Refused as refused:
            return str(refused)
        return None


def _sudid(name: str) -> dict[str, Any]:
    """The event as it is decoded, with the inner call's error."""
    index = _INDICES.get(name)
    error: Any = {name: None} if index is None else {"Module": {"index": index[0], "error": f"0x{index[1]:02x}000000"}}
    return {"event": {"module_id": "Sudo", "event_id": "Sudid", "attributes": {"sudo_result": {"Err": error}}}}
