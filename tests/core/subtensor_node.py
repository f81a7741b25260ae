"""A subtensor node in memory, below the real SDK: `bt.Client(substrate=node.connect())`.

The subnet is the simulated one; what is new here is the surface that the SDK talks to, and what can go wrong with it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, Literal, NamedTuple, cast

import bittensor as bt
from bittensor._transport.errors import StorageFunctionNotFound
from bittensor.result import ChainError as SdkChainError
from bittensor.result import chain_error_from_substrate_request
from subtensor_state import announced, commitment, committed, content_of, metagraph, pallet_error, stored
from subtensor_steps import Stepping, Steps

from localnet.chain.subnet import SimulatedSubnet
from sssa.protocol.signatures import verify
from sssa.sources import Clock
from validator.chain.connection import MISSING, Item, Substrate

FINALITY: Final = 2  # blocks between a block and its finality
LOST: Final = "Connection lost while waiting for a subscription response. The transaction may already be on chain."

# What a runtime of mid-2025 did not have.
NEWER: Final = frozenset(
    {
        "SubnetEpochIndex",
        "SubnetEpochConsensus",
        "LastEpochBlock",
        "PendingEpochAt",
        "MechanismCountCurrent",
        "TimelockedWeightCommits",
        "get_next_epoch_start_block",
        "set_mechanism_weights",
        "commit_timelocked_mechanism_weights",
    }
)
# Where a submission goes wrong: before its signature, between signature and pool, in the pool, once it is in a block.
Phase = Literal["unsigned", "unsent", "pooled", "included", "silent", "retracted", "late"]


class Sent(NamedTuple):
    """A call that reached the pool."""

    function: str
    params: Mapping[str, Any]
    period: int


class Node:
    """One node; every connection to it is a `MemorySubstrate`.

    Attributes:
        subnet: the subnet it knows.
        steps: when that subnet steps; the rules of the simulated one do not decide it.
        lacks: names of storage items, runtime calls and extrinsics that its runtime does not have.
        down: connections break and new ones wait.
        silent: it takes requests and never answers.
        latency_s: how long it takes for an answer.
        behind: how many blocks it lacks.
        frozen: the block after which it has taken no more; None: it takes them all.
        fault: where the next submissions go wrong.
        pool_refusal: the pool's words to the next submission, if it does not want it.
        sealed: what the next timelocked commitment holds; nobody can look inside before its time.
        sent: what reached the pool.
        pinned: the block hashes at which state was read.
        replaced: blocks whose hash is another one than before: a fork won.
        certificates: hotkeys with a certificate on chain.
        gone: it has no such subnet any more.
        spec_version: of its runtime.
        young_mechanisms: all mechanisms but the first are younger than the neurons.
    """

    def __init__(self, subnet: SimulatedSubnet, clock: Clock, *, lacks: frozenset[str] = frozenset()) -> None:
        self.subnet = subnet
        self.clock = clock
        self.lacks = lacks
        rules = subnet.rules
        self.steps = Steps(rules.netuid, rules.tempo, scheduled="SubnetEpochIndex" not in lacks)
        self.down = False
        self.silent = False
        self.latency_s = 0.0
        self.behind = 0
        self.frozen: int | None = None
        self.fault: Phase | None = None
        self.pool_refusal: str | None = None
        self.sealed: Mapping[int, int] = {}
        self.sent: list[Sent] = []
        self.pinned: list[str | None] = []
        self.replaced: set[int] = set()
        self.certificates: set[str] = set()
        self.gone = False
        self.young_mechanisms = False
        self.after_read: Callable[[str], None] = lambda _: None
        self.connections = 0
        self.spec_version = 425

    def connect(self) -> Substrate:
        """Return one more connection."""
        return cast("Substrate", MemorySubstrate(self))

    def number(self) -> int:
        """Return the newest block's number."""
        newest = max(0, self.subnet.blocks.number() - self.behind)
        return newest if self.frozen is None else min(newest, self.frozen)

    def stepping(self) -> Stepping:
        """Return what the newest block's state says of the subnet's steps."""
        return self.steps.at(self.number())

    def hash(self, number: int) -> str:
        """Return a block's hash, as the SDK writes it."""
        mark = "f" if number in self.replaced else ""
        return "0x" + (mark + self.subnet.blocks.hash(number))[:64]

    async def reach(self) -> None:
        """Wait, as the SDK does under retry_forever, while nothing can be reached."""
        await (self.clock.sleep(self.latency_s) if self.latency_s else asyncio.sleep(0))
        while self.down or self.silent:
            await self.clock.sleep(1.0)

    def has(self, name: str) -> None:
        """Raise what the SDK raises when the runtime does not have `name`."""
        if name in self.lacks:
            if name[0].isupper():
                raise StorageFunctionNotFound(f"Storage function SubtensorModule.{name} does not exist")
            raise ValueError(f"Runtime API Call '{name}' not found in registry")


class MemorySubstrate:
    """The SDK's access to a `Node`: what `bt.Substrate` asks for, as far as the validator uses it."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.token_symbols: dict[int, str] = {}
        self._open = False

    def balance(self, rao: int, netuid: int = 0) -> bt.Balance:
        return bt.Balance(int(rao), netuid, None)

    async def connect(self) -> None:
        await self.node.reach()
        self.node.connections += not self._open
        self._open = True

    async def close(self) -> None:
        self.node.connections -= self._open
        self._open = False

    # Blocks

    async def block_number(self) -> int:
        await self._reach()
        return self.node.number()

    async def finalized_block_number(self) -> int:
        return max(0, await self.block_number() - FINALITY)

    async def block_hash(self, block: int | None = None) -> str:
        newest = await self.block_number()
        if block is not None and block > newest:
            raise SdkChainError(f"no block at height {block}")
        return self.node.hash(newest if block is None else block)

    async def block_time(self) -> float:
        await self._reach()
        return self.node.subnet.rules.block_time_s

    async def get_block(self, block_number: int | None = None, block_hash: str | None = None) -> dict[str, Any] | None:
        newest = await self.block_number()
        number = newest if block_number is None else block_number
        if number > newest:
            return None
        rules = self.node.subnet.rules
        time = {"value": int((rules.genesis + number * rules.block_time_s) * 1_000)}
        header = {"number": number, "hash": self.node.hash(number), "parentHash": self.node.hash(number - 1)}
        return {"header": header, "extrinsics": [{"call": {"call_module": "Timestamp", "call_args": [time]}}]}

    async def blocks(self, *, finalized: bool = False) -> AsyncIterator[dict[str, Any]]:
        del finalized
        number = await self.block_number()
        while True:
            yield {"header": {"number": number, "parentHash": self.node.hash(number - 1)}}
            while self.node.silent or self.node.subnet.blocks.number() <= number:
                await self.node.clock.sleep(self.node.subnet.rules.block_time_s / 4)
                if self.node.down:
                    raise SdkChainError(LOST)
            number = self.node.subnet.blocks.number()

    # State; there is only the present one, whatever the hash

    async def query(
        self, module: str, name: str, params: list[Any] | None = None, block_hash: str | None = None
    ) -> Any:
        await self._reach()
        return self._stored(module, name, params or [], block_hash)

    def _stored(self, module: str, name: str, params: list[Any], block_hash: str | None) -> Any:
        self.node.has(name)
        self.node.pinned.append(block_hash)
        blocks, rules = self.node.subnet.blocks, self.node.subnet.rules
        if (module, name, params) == ("System", "BlockHash", [0]):
            return "0x" + blocks.identity
        if (module, name) == ("System", "Number"):
            return self.node.number()
        if (module, name) == ("Timestamp", "Now"):
            return int((rules.genesis + self.node.number() * rules.block_time_s) * 1_000)
        if (module, name) == ("Commitments", "CommitmentOf"):
            return commitment(self.node.subnet, params)
        assert module == "SubtensorModule"
        if self.node.gone and name == "NetworksAdded":
            return False
        value = stored(self.node.subnet, self.node.stepping(), name, params)
        self.node.after_read(name)
        young = name == "LastUpdate" and self.node.young_mechanisms
        return [] if young and params != [self.node.subnet.rules.netuid] else value

    async def spec_version(self) -> int:
        await self._reach()
        return self.node.spec_version

    async def pin(self) -> str:
        return await self.block_hash()

    async def query_many(self, items: Sequence[Item], block_hash: str) -> list[Any]:
        await self._reach()
        return [
            MISSING if name in self.node.lacks else self._stored(module, name, params, block_hash)
            for module, name, params in items
        ]

    async def query_map(
        self, module: str, name: str, params: list[Any] | None = None, block_hash: str | None = None
    ) -> list[tuple[Any, Any]]:
        await self._reach()
        self.node.has(name)
        if name == "TokenSymbol":
            return []
        self.node.pinned.append(block_hash)
        if name == "NeuronCertificates":
            return [(hotkey, {}) for hotkey in sorted(self.node.certificates)]
        if name in ("TimelockedWeightCommits", "CRV3WeightCommitsV2"):
            return committed(self.node.subnet, (params or [0])[0])
        raise AssertionError(f"{module}.{name}")

    async def runtime_call(self, api: str, method: str, params: list[Any], block_hash: str | None = None) -> Any:
        await self._reach()
        self.node.has(method)
        self.node.pinned.append(block_hash)
        if self.node.gone or params != [self.node.subnet.rules.netuid]:
            return None
        planned = self.node.steps.planned(self.node.number())
        value: Any = metagraph(self.node.subnet, self.node.stepping()) if method == "get_metagraph" else planned
        self.node.after_read(method)
        return value

    async def constant(self, module: str, name: str) -> Any:
        raise AssertionError(f"{module}.{name}")

    # Submission

    async def compose(self, call: Any) -> Any:
        await self._reach()
        self.node.has(call.function)
        return call

    async def estimate_fee(self, call: Any, keypair: Any) -> bt.Balance:
        await self._reach()
        return bt.Balance.from_rao(0)

    async def submit(  # noqa: PLR0913 - the SDK's own form
        self,
        call: Any,
        keypair: Any,
        *,
        nonce: int | None = None,
        period: int | None = 128,
        wait_for_inclusion: bool = True,
        wait_for_finalization: bool = True,
    ) -> bt.ExtrinsicResult:
        """Do what the SDK's own does: a failed result for the node's refusals, exceptions for the rest."""
        node = self.node
        assert (nonce, wait_for_inclusion, wait_for_finalization) == (None, True, True)
        assert period is not None
        if node.fault == "unsigned":
            raise bt.RpcConnectionError("could not connect to any endpoint")
        if node.fault == "late":
            with suppress(asyncio.CancelledError):  # slow to take its cancellation
                await node.clock.sleep(1_000.0)
        await self._reach()
        payload = repr(call).encode()
        try:
            signature = bytes(keypair.sign(payload))
        except Exception as error:
            raise SdkChainError(str(error)) from error
        assert verify(payload, "0x" + signature.hex(), keypair.ss58_address, "sr25519")
        if node.fault == "unsent":
            raise bt.RpcConnectionError("the connection timed out without a response")
        if node.pool_refusal is not None:
            return _failed(node.pool_refusal)
        node.sent.append(Sent(call.function, call.params, period))
        if call.function == "serve_axon":
            node.subnet.serve_axon(keypair.ss58_address, announced(call.params))
            return bt.ExtrinsicResult(success=True, message="Success", extrinsic_id="1-0001")
        return await self._included(call, keypair.ss58_address, period)

    async def _included(self, call: Any, hotkey: str, period: int) -> bt.ExtrinsicResult:
        node, blocks = self.node, self.node.subnet.blocks
        mechid = call.params.get("mecid", 0)
        if call.function == "set_commitment":
            content = content_of(call.params)
            pending = node.subnet.submit_commitment(hotkey, content, delay=1, valid_blocks=period)
        else:
            values = node.sealed if "commit" in call.params else _pairs(call.params)
            pending = node.subnet.submit(hotkey, mechid, values, delay=1, valid_blocks=period)
        if node.fault == "pooled":
            return _failed(LOST)
        if node.fault == "retracted":
            return _failed("Extrinsic retracted: {'retracted': '0x00'}")
        while pending.result is None:
            await blocks.wait_for(blocks.number() + 1)
            node.subnet.snapshot()  # looking makes it take what is due
            if blocks.number() > pending.expires:
                return _failed("Extrinsic invalid: {'invalid': None}")
        held = blocks.number()
        if node.fault == "included":
            return _failed(LOST)
        if node.fault == "silent":
            await asyncio.Event().wait()
        await blocks.wait_for(held + FINALITY)
        result = pending.result
        if result.accepted:
            return bt.ExtrinsicResult(success=True, message="Success", extrinsic_id=result.extrinsic)
        error = SdkChainError(f"The pallet says {result.message}.", pallet_error(result))
        return bt.ExtrinsicResult(success=False, message=str(error), extrinsic_id=result.extrinsic, error=error)

    async def _reach(self) -> None:
        assert self._open
        await self.node.reach()


def _pairs(params: Mapping[str, Any]) -> dict[int, int]:
    return dict(zip(params["dests"], params["weights"], strict=True))


def _failed(message: str) -> bt.ExtrinsicResult:
    error = chain_error_from_substrate_request(Exception(message))
    return bt.ExtrinsicResult(success=False, message=str(error), error=error)
