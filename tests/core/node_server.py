"""A node in memory, served over a WebSocket on loopback: the JSON-RPC methods that the SDK needs, in real time.

Values are JSON where a real node has SCALE (`json_codec`).
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Self

import bittensor_core
from aiohttp import WSMsgType, web
from json_codec import MARK, packed, signed_payload
from subtensor_node import FINALITY, Node, Sent
from subtensor_state import announced, commitment, committed, content_of, metagraph, pallet_error, stored

from localnet.chain.subnet import Pending
from sssa.protocol.signatures import verify
from validator.chain.interface import WeightsResult

_STORAGE: Final = {
    **dict.fromkeys(("Events", "Now", "Number", "StakeThreshold"), 0),
    **dict.fromkeys(("Uids", "Weights", "BlockAtRegistration", "CommitmentOf"), 2),
    **dict.fromkeys(("TimelockedWeightCommits", "CRV3WeightCommitsV2", "NeuronCertificates"), 2),
    **dict.fromkeys(("BlocksSinceLastStep", "CommitRevealWeightsEnabled", "LastEpochBlock", "LastUpdate"), 1),
    **dict.fromkeys(("MaxWeightsLimit", "MechanismCountCurrent", "MinAllowedWeights", "NetworkRegisteredAt"), 1),
    **dict.fromkeys(("NetworksAdded", "PendingEpochAt", "RevealPeriodEpochs", "SubnetEpochConsensus"), 1),
    **dict.fromkeys(("BlockHash", "SubnetEpochIndex", "SubnetworkN", "Tempo", "TokenSymbol"), 1),
    **dict.fromkeys(("WeightsSetRateLimit", "WeightsVersionKey", "ValidatorPermit", "ValidatorTrust"), 1),
    **dict.fromkeys(("Dividends", "Emission"), 1),
}
_CALLS: Final = (
    "serve_axon",
    "set_commitment",
    "set_weights",
    "set_mechanism_weights",
    "commit_timelocked_mechanism_weights",
)
_APIS: Final = {
    "SubnetInfoRuntimeApi": ("get_metagraph", "get_next_epoch_start_block"),
    "TransactionPaymentApi": ("query_info",),
}


class RpcError(Exception):
    """The node's words to a request that it cannot serve."""


@dataclass(slots=True)
class Submitted:
    """An extrinsic that reached the pool.

    Attributes:
        who: hotkey.
        nonce: of the account.
        block: the newest one when it came.
        expires: the last block that may hold it.
        pending: the result of it; None for what are no weights.
    """

    who: str
    nonce: int
    block: int
    expires: int
    pending: Pending | None


class NodeServer:
    """A served node; `async with` gives it a port.

    Args:
        node: what it shows; its clock must be the machine's.
        twin: another node of the same chain: what one of them holds the other does, too.

    Attributes:
        submitted: what reached the pool, in order.
        url: where it listens.
    """

    def __init__(self, node: Node, twin: "NodeServer | None" = None) -> None:
        self.node = node
        self.submitted: list[Submitted] = twin.submitted if twin else []
        self.url = ""
        # block: extrinsics and their events
        self._held: dict[int, list[tuple[str, list[dict[str, Any]]]]] = twin._held if twin else {}
        self._numbers: dict[str, int] = twin._numbers if twin else {}
        self._ids = 0
        self._runner: web.AppRunner | None = None
        self._methods: dict[str, Callable[..., Any]] = {
            "account_nextIndex": lambda who: sum(sent.who == who for sent in self.submitted),
            "chain_getBlock": self._block,
            "chain_getBlockHash": lambda number=None: self._hash(self._newest() if number is None else number),
            "chain_getFinalizedHead": lambda: self._hash(max(0, self._newest() - FINALITY)),
            "chain_getHead": lambda: self._hash(self._newest()),
            "chain_getHeader": lambda block=None: self._header(self._number(block)),
            "state_call": self._call,
            "state_getKeysPaged": self._keys,
            "state_getMetadata": lambda _=None: "0x" + self._metadata().hex(),
            "state_getRuntimeVersion": lambda _=None: {
                "specVersion": self.node.spec_version,
                "transactionVersion": 1,
                "specName": "node-subtensor",
            },
            "state_getStorage": lambda _, block=None: (
                "0x" + self._time_ms(self._number(block)).to_bytes(8, "little").hex()
            ),
            "state_getStorageAt": lambda key, block=None: self._stored(key, block),
            "state_queryStorageAt": lambda keys, block=None: [
                {"block": block, "changes": [(key, self._stored(key, block)) for key in keys]}
            ],
            "system_chain": lambda: "Bittensor",
            "system_health": lambda: {"isSyncing": False, "peers": 3},
        }

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_get("/", self._served)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"ws://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    # Requests

    async def _served(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        pushing: dict[str, asyncio.Task[None]] = {}
        try:
            async for frame in socket:
                if frame.type is WSMsgType.TEXT:
                    await socket.send_str(json.dumps(self._answer(json.loads(frame.data), socket, pushing)))
        finally:
            for task in pushing.values():
                task.cancel()
        return socket

    def _answer(self, request: Any, socket: web.WebSocketResponse, pushing: dict[str, asyncio.Task[None]]) -> Any:
        if isinstance(request, list):
            return [self._answer(one, socket, pushing) for one in request]
        answer = {"jsonrpc": "2.0", "id": request["id"]}
        method, params = request["method"], request["params"]
        try:
            if method in ("chain_unsubscribeNewHeads", "author_unwatchExtrinsic"):
                task = pushing.pop(str(params[0]), None)
                return {**answer, "result": task is not None and task.cancel()}
            if method in ("chain_subscribeNewHeads", "author_submitAndWatchExtrinsic"):
                return {**answer, "result": self._subscribed(method, params, socket, pushing)}
            return {**answer, "result": self._methods[method](*params)}
        except RpcError as error:
            return {**answer, "error": {"code": 1010, "message": str(error)}}
        except KeyError:
            return {**answer, "error": {"code": -32601, "message": f"Method not found: {method}"}}

    def _subscribed(
        self, method: str, params: list[Any], socket: web.WebSocketResponse, pushing: dict[str, asyncio.Task[None]]
    ) -> str:
        self._ids += 1
        name = f"s{self._ids}"
        notice, push = ("chain_newHead", self._heads)
        if method == "author_submitAndWatchExtrinsic":
            raw = params[0]
            sent = self._taken(json.loads(bytes.fromhex(raw[2:])))
            notice, push = ("author_extrinsicUpdate", lambda out: self._watched(raw, sent, out))

        async def out(result: Any) -> None:
            params = {"subscription": name, "result": result}
            await socket.send_str(json.dumps({"jsonrpc": "2.0", "method": notice, "params": params}))

        async def run() -> None:
            with suppress(ConnectionError, RuntimeError):  # nobody listens any more
                await push(out)

        pushing[name] = asyncio.create_task(run())
        return name

    # Blocks

    async def _heads(self, out: Callable[[Any], Awaitable[None]]) -> None:
        number = self._newest()
        while True:
            await out(self._header(number))
            while self._newest() <= number:
                await self.node.subnet.blocks.wait_for(self.node.subnet.blocks.number() + 1)
            number = self._newest()

    def _newest(self) -> int:
        return self.node.number()

    def _hash(self, number: int) -> str | None:
        if number > self._newest():
            return None
        found = "0x" + self.node.subnet.blocks.identity if number == 0 else self.node.hash(number)
        self._numbers[found] = number
        return found

    def _number(self, block: str | None) -> int:
        return self._newest() if block is None else self._numbers[block]

    def _time_ms(self, number: int) -> int:
        rules = self.node.subnet.rules
        return int((rules.genesis + number * rules.block_time_s) * 1_000)

    def _header(self, number: int) -> dict[str, Any]:
        parent = self._hash(number - 1) if number else "0x" + "00" * 32
        return {"number": hex(number), "parentHash": parent}

    def _block(self, block: str) -> dict[str, Any]:
        number = self._number(block)
        time = {"value": self._time_ms(number)}
        stamp = {"call": {"call_module": "Timestamp", "call_args": [time]}}
        extrinsics = ["0x" + packed(stamp).hex(), *(raw for raw, _ in self._held.get(number, ()))]
        return {"block": {"header": self._header(number), "extrinsics": extrinsics}}

    # State: of steps that of the block, of all else the present one

    def _metadata(self) -> bytes:
        lacks, period = self.node.lacks, self.node.subnet.rules.block_time_s
        has = {
            "storage": {name: keys for name, keys in _STORAGE.items() if name not in lacks},
            "calls": [name for name in _CALLS if name not in lacks],
            "apis": {api: [name for name in names if name not in lacks] for api, names in _APIS.items()},
            "constants": {"Aura.SlotDuration": round(period * 1_000)},
        }
        return MARK + packed(has)

    def _stored(self, key: str, block: str | None) -> str | None:
        _, name, params = json.loads(bytes.fromhex(key[2:]))
        if name == "BlockHash":
            value: Any = self._hash(params[0])
        elif name == "Events":
            value = [event for _, events in self._held.get(self._number(block), ()) for event in events]
        elif name == "Number":
            value = self._number(block)
        elif name == "Now":
            value = self._time_ms(self._number(block))
        elif name == "NetworksAdded" and self.node.gone:
            value = False
        elif name == "CommitmentOf":
            value = commitment(self.node.subnet, params)
        elif name in ("TimelockedWeightCommits", "CRV3WeightCommitsV2"):
            value = dict(committed(self.node.subnet, params[0]))[params[1]]
        else:
            value = stored(self.node.subnet, self.node.steps.at(self._number(block)), name, params)
        return None if value is None else "0x" + packed(value).hex()

    def _keys(self, prefix: str, count: int, start: str, block: str | None = None) -> list[str]:
        """Return the keys of a map with one free part, all on one page."""
        del block
        pallet, name, params = json.loads(bytes.fromhex(prefix[2:]))
        if start != prefix or name not in ("TimelockedWeightCommits", "CRV3WeightCommitsV2"):
            return []
        epochs = sorted({epoch for epoch, _ in committed(self.node.subnet, params[0])})
        assert len(epochs) < count
        return ["0x" + packed([pallet, name, [*params, epoch]]).hex() for epoch in epochs]

    def _call(self, name: str, params: str, block: str | None = None) -> str:
        method = name.partition("_")[2]
        if method == "query_info":
            return "0x" + packed({"partial_fee": 0}).hex()
        if name == "Metadata_metadata_at_version":
            raise RpcError(f"Exported method {name} is not found")
        netuid = json.loads(bytes.fromhex(params))
        value: Any = None
        if netuid == self.node.subnet.rules.netuid and not self.node.gone:
            planned = self.node.steps.planned(self._number(block))
            value = (
                metagraph(self.node.subnet, self.node.steps.at(self._number(block)))
                if method == "get_metagraph"
                else planned
            )
        return "0x" + packed(value).hex()

    # Submission

    def _taken(self, extrinsic: dict[str, Any]) -> Submitted:
        """Check a signed extrinsic as a pool does, and keep it."""
        node, who, era = self.node, extrinsic["who"], extrinsic["era"]
        if not verify(signed_payload(extrinsic), extrinsic["signature"], who, "sr25519"):
            raise RpcError("Invalid Transaction: Transaction has a bad signature")
        if extrinsic["nonce"] != self._methods["account_nextIndex"](who):
            raise RpcError("Invalid Transaction: Transaction is outdated")
        number = node.subnet.blocks.number()
        expires = int(bittensor_core.era_birth(era["period"], era["current"])) + era["period"] - 1
        if number > expires:
            raise RpcError("Invalid Transaction: Transaction is outdated")
        _, function, params = extrinsic["call"]
        node.sent.append(Sent(function, params, era["period"]))
        pending = None
        if function == "serve_axon":
            node.subnet.serve_axon(who, announced(params))
        elif function == "set_commitment":
            valid_blocks = expires - number
            pending = node.subnet.submit_commitment(who, content_of(params), delay=1, valid_blocks=valid_blocks)
        else:
            pending = self._weights(who, params, expires - number)
        sent = Submitted(who, extrinsic["nonce"], number, expires, pending)
        self.submitted.append(sent)
        return sent

    def _weights(self, who: str, params: dict[str, Any], valid_blocks: int) -> Pending:
        node = self.node
        values = node.sealed if "commit" in params else dict(zip(params["dests"], params["weights"], strict=True))
        return node.subnet.submit(who, params.get("mecid", 0), values, delay=1, valid_blocks=valid_blocks)

    async def _watched(self, raw: str, sent: Submitted, out: Callable[[Any], Awaitable[None]]) -> None:
        await out("ready")
        blocks = self.node.subnet.blocks
        held = sent.block + 1
        await blocks.wait_for(held)
        self.node.subnet.snapshot()  # looking makes it take what is due
        result = sent.pending.result if sent.pending else WeightsResult(True, "", held, None)
        assert result is not None
        self._hold(held, raw, result)
        await out({"inBlock": self._hash(held)})
        await blocks.wait_for(held + FINALITY)
        await out({"finalized": self._hash(held)})

    def _hold(self, number: int, raw: str, result: WeightsResult) -> None:
        held = self._held.setdefault(number, [])
        place = len(held) + 1
        attributes: dict[str, Any] = {"dispatch_info": {"weight": 0}}
        if not result.accepted:
            attributes["dispatch_error"] = {pallet_error(result): result.message}
        event = {
            "module_id": "System",
            "event_id": "ExtrinsicSuccess" if result.accepted else "ExtrinsicFailed",
            "attributes": attributes,
        }
        held.append((raw, [{"extrinsic_idx": place, "event": event}]))
