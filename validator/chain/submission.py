"""Extrinsics to a subtensor: signed at most once; each failure says whether it was signed before.

Weights, and commitments: a few bytes that everybody can read.
"""

import math
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final

import bittensor as bt
from bittensor.intents.weights import DEFAULT_COMMIT_REVEAL_VERSION, _build_timelocked

from sssa.protocol.signatures import Signer
from sssa.protocol.text import printable
from sssa.protocol.weight_rows import to_u16
from sssa.sources import Clock
from validator.cancellation import within
from validator.chain.connection import SDK_ERRORS, Connection, Node, is_missing
from validator.chain.interface import (
    VERSION_KEY,
    ChainError,
    ChainUnreachableError,
    Commitment,
    MissingError,
    WeightsResult,
)
from validator.chain.limits import Limits

_SHORTEST_ERA: Final = 16  # blocks; an era begins at the newest finalised block, which lags behind the head
_SLACK: Final = 16  # blocks that may pass between the caller's look at the head and the signature: half of them
_LATE: Final = _SLACK // 2  # before it is prepared, half after that
# Words for an extrinsic that left the pool, or was in it already: it, or its twin, may still be included.
_UNCERTAIN: Final = frozenset({"Usurped", "Retracted", "FinalityTimeout", "Dropped", "Invalid", "AlreadyImported"})


class NotSignedError(ChainError):
    """The submission was given up before it was signed."""


class OneSignature:
    """The hotkey as an SDK signer for one extrinsic.

    What comes before the signature is certain not to have been sent, whatever the SDK says about it.

    Args:
        seconds: after so long nothing is signed any more.
    """

    ss58_format = 42

    def __init__(self, signer: Signer, clock: Clock, seconds: float) -> None:
        self.ss58_address = signer.hotkey
        self.public_key: bytes = bytes(signer.keypair.public_key)
        self.crypto_type: int = signer.keypair.crypto_type
        self.used = False
        self.late = False
        self._keypair = signer.keypair
        self._clock = clock
        self._until = clock.monotonic() + seconds

    def sign(self, payload: bytes) -> bytes:
        """Return the one signature (NotSignedError: too late, given up, or signed before)."""
        self.late = self._clock.monotonic() > self._until
        if self.used or self.late:
            raise NotSignedError("signed already" if self.used else "preparing it took too long")
        self.used = True
        return bytes(self._keypair.sign(payload))

    def give_up(self) -> None:
        """Sign nothing from now on."""
        self._until = -math.inf


def era_period(valid_blocks: int) -> int:
    """Return the era for a submission: the next power of two, which is what the chain would make of it."""
    return max(_SHORTEST_ERA, 1 << (valid_blocks - 1).bit_length())


def submission_lifetime(valid_blocks: int) -> int:
    """Return after how many blocks past the head at the call a submission has expired for certain."""
    return era_period(valid_blocks) + _SLACK


Execute = Callable[[bt.Client, OneSignature], Coroutine[Any, Any, Any]]


class Submission:
    """One attempt to submit something, on its own connection.

    Its own because the SDK counts nonces per connection and does not take one back that a cancelled call has used.

    Args:
        connection: for this submission alone.
        what: is submitted, for messages: the call's name.
    """

    def __init__(self, connection: Connection, clock: Clock, signer: Signer, limits: Limits, what: str) -> None:
        self._connection = connection
        self._clock = clock
        self._signer = signer
        self._limits = limits
        self._what = what

    async def send(self, execute: Execute, head: int | None = None) -> WeightsResult:
        """Submit through `execute`, which gets client and signature, and wait until it is final.

        Nothing is sent once the chain is more than half of the slack past `head`.

        Raises:
            ChainUnreachableError: certain not to have been sent.
            MissingError: the same, raised by `execute`.
            ChainError: the result is unknown.
        """
        client, once = await self._prepared(head)
        try:
            call = execute(client, once)
            result = await within(self._clock, self._limits.submit_s, call, before_cut=once.give_up)
        except TimeoutError:
            raise self._lost(once, f"no answer within {self._limits.submit_s:g} s") from None
        except MissingError:
            raise
        except (ChainError, *SDK_ERRORS) as error:
            refusal = None if once.used or once.late else _refusal_before_signing(error)
            if refusal is None:
                raise self._lost(once, self._connection.translated(self._what, error).detail) from error
            return refusal
        finally:
            once.give_up()
        return self._result(result, once)

    async def _prepared(self, head: int | None) -> tuple[bt.Client, OneSignature]:
        try:
            client = await self._connection.client()
            block_s = await self._connection.ask("block time", bt.Client.block_time)
            newest = head if head is None else await self._connection.ask("newest block", bt.Client.block)
        except ChainError as error:
            raise ChainUnreachableError(f"{self._what}: nothing was sent: {error.detail or error}") from error
        if head is not None and newest is not None and newest > head + _LATE:
            raise ChainUnreachableError(
                f"{self._what}: nothing was sent: block {newest}, and it is made for block {head}"
            )
        return client, OneSignature(self._signer, self._clock, block_s * (_SLACK - _LATE))

    def _result(self, result: Any, once: OneSignature) -> WeightsResult:
        """Return the result in the SDK's answer.

        Raises:
            ChainError: it failed without being in a block, and not because a pool would not have it.
        """
        block = int(result.extrinsic_id.partition("-")[0]) if result.extrinsic_id else None
        if result.success:
            return WeightsResult(True, "", block, result.extrinsic_id)
        error = result.error or bt.ChainError(result.message)
        if block is None and (not error.name or error.name in _UNCERTAIN):
            raise self._lost(once, printable(result.message, 300))
        return _refused(error, block, result.extrinsic_id)

    def _lost(self, once: OneSignature, why: str) -> ChainError:
        if once.used:
            return ChainError(f"{self._what}: its fate is unknown: {why}")
        return ChainUnreachableError(f"{self._what}: nothing was sent: {why}")


class OwnRow(bt.SetWeights):  # type: ignore[misc]
    """The SDK's intent for a row that is sent as it is.

    The SDK's own clips the row to MaxWeightsLimit, which no runtime has applied since 2025-10, and asks again what this
    program has asked before.
    """

    async def build(self, substrate: Any, wallet: Any) -> Any:
        """Return the composed call, a commitment where the subnet wants one."""
        uids, values = list(self.uids), [int(value) for value in self.weights]
        if await substrate.query("SubtensorModule", "CommitRevealWeightsEnabled", [self.netuid]):
            key = self.hotkey_public_key(wallet)
            row = (self.netuid, self.mechid, uids, values, self.version_key)
            try:
                return await _build_timelocked(substrate, key, *row, DEFAULT_COMMIT_REVEAL_VERSION)
            except ValueError as error:
                if not is_missing(error):
                    raise
            raise bt.ChainError("this runtime is too old for the SDK's commitments", code=bt.ErrorCode.DISABLED)
        calls, arguments = bt.calls.SubtensorModule, {"netuid": self.netuid, "dests": uids, "weights": values}
        arguments |= {"version_key": self.version_key}
        try:
            return await substrate.compose(calls.set_mechanism_weights(mecid=self.mechid, **arguments))
        except ValueError as error:
            if not is_missing(error):
                raise
        if self.mechid:
            raise bt.ChainError("this runtime has no mechanisms", code=bt.ErrorCode.INVALID_ARGUMENT)
        return await substrate.compose(calls.set_weights(**arguments))


def weights_call(netuid: int, mechid: int, weights: Mapping[int, float], period: int) -> Execute:
    """Return the call that submits a row for one mechanism, as a commitment if the subnet wants one."""
    row = to_u16(weights)

    async def execute(client: bt.Client, once: OneSignature) -> Any:
        intent = OwnRow(netuid=netuid, weights=row, mechid=mechid, version_key=VERSION_KEY)
        return await client.execute(intent, once, period=period)

    return execute


def _refusal_before_signing(error: Exception) -> WeightsResult | None:
    """Return the refusal that the SDK foresees; None if its check failed."""
    if isinstance(error, bt.ChainError):
        return None if error.code is bt.ErrorCode.UNKNOWN else _refused(error, None, None)
    if isinstance(error, bt.RpcConnectionError) or not isinstance(error, bt.BittensorError):
        return None
    code = getattr(error, "code", bt.ErrorCode.INVALID_ARGUMENT)
    return WeightsResult(False, f"{code.value}: {printable(str(error), 300)}", None, None)


def _refused(error: bt.ChainError, block: int | None, extrinsic: str | None) -> WeightsResult:
    return WeightsResult(False, error_message(error), block, extrinsic)


def error_message(error: bt.ChainError) -> str:
    """Return a refusal as `code (Name): text`: the SDK's code, the pallet's name where it has one."""
    name = f" ({error.name})" if error.name else ""
    return f"{error.code.value}{name}: {printable(str(error), 300)}"


_RAW: Final = "Raw"


def commitment_call(netuid: int, content: bytes, period: int) -> Execute:
    """Return the call that commits `content` as one plain field. A fee is the coldkey's."""

    async def execute(client: bt.Client, once: OneSignature) -> Any:
        field = {f"{_RAW}{len(content)}": content}
        call = bt.calls.Commitments.set_commitment(netuid=netuid, info={"fields": [field]})
        policy = bt.Policy(max_spend_tao=0, allowed_netuids=[netuid], allow_raw_calls=True)
        try:
            return await client.submit_call(call, once, signer="hotkey", policy=policy, period=period)
        except ValueError as error:
            if once.used or not is_missing(error):
                raise
            raise MissingError("set_commitment: the runtime has no such call") from None

    return execute


async def commitment_of(node: Node, netuid: int, hotkey: str) -> Commitment | None:
    """Return the commitment of `hotkey` on the subnet; None without one."""
    record = await node.query("Commitments", "CommitmentOf", [netuid, hotkey])
    if not record:
        return None
    fields = list((record.get("info") or {}).get("fields") or ())
    return Commitment(int(record["block"]), _plain(fields))


def _plain(fields: list[Any]) -> bytes | None:
    """Return the bytes of the one plain field; None for anything else."""
    if len(fields) != 1 or not isinstance(fields[0], dict) or len(fields[0]) != 1:
        return None
    ((variant, value),) = fields[0].items()
    if not str(variant).startswith(_RAW) or not isinstance(value, str):
        return None
    return bytes.fromhex(value.removeprefix("0x"))
