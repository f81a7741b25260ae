"""The real chain: the Chain protocol over the bittensor SDK."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final

import bittensor as bt

from validator.chain.base import ChainError, ChainUnreachableError, Commitment, Head, SubnetParameters, WeightsResult
from validator.chain.connection import SDK_ERRORS, Connection, Substrates, open_client
from validator.chain.probe import diagnosis
from validator.chain.reads import Reads
from validator.chain.submission import (
    LIMITS,
    Execute,
    Limits,
    Submission,
    commitment_call,
    commitment_of,
    era_period,
    submission_lifetime,
    weights_call,
    words,
)
from validator.chain.within import within
from validator.protocol.round import MetagraphSnapshot
from validator.protocol.signatures import Signer
from validator.sources import Clock
from validator.unless import ended

_SILENCE: Final = 1.5  # times a call's limit: a node that says nothing at all for so long has lost the connection
_PAUSE_S: Final = 2.0  # between two attempts to follow the blocks of a node that does not answer


class BittensorChain:
    """One hotkey's connection to a subnet of a real chain.

    Nothing is connected before the first call; `connect` makes that call and says what is wrong.

    Args:
        endpoints: network names or websocket urls, the favourite first.
        netuid: the subnet.
        signer: the validator's hotkey; the only key there is.
        clock: time limits.
        limits: how long the chain may take.
        substrate: in place of the SDK's own access to a node, one for each client: for tests.
    """

    def __init__(  # noqa: PLR0913 - what a connection is made of
        self,
        *,
        endpoints: Sequence[str],
        netuid: int,
        signer: Signer,
        clock: Clock,
        limits: Limits = LIMITS,
        substrate: Substrates | None = None,
    ) -> None:
        self.endpoints = tuple(endpoints)
        self.netuid = netuid
        self._signer = signer
        self._clock = clock
        self._limits = limits
        self._substrate = substrate
        self._diagnosis: asyncio.Task[str] | None = None
        self._connection = self._connect(stubborn=True)
        self._reads = Reads(netuid, signer.hotkey)

    @property
    def latency_s(self) -> float | None:
        """How long the newest answer took."""
        return self._connection.latency_s

    async def connect(self) -> None:
        """Connect, and see that the subnet is there; not needed, but it fails early and clearly.

        Raises:
            ChainUnreachableError: no endpoint answers.
            NoSubnetError: the chain has no such subnet.
            ChainError: an endpoint is neither a url nor a network's name, or what answers is no subtensor.
        """
        await self._connection.read("connect", self._reads.head)

    async def genesis(self) -> str:
        """Return the hash of block 0, as the chain itself keeps it."""
        return await self._connection.read("genesis", self._reads.genesis)

    async def head(self) -> Head:
        """Return the newest block."""
        return await self._connection.read("head", self._reads.head)

    async def wait_for_block(self, number: int) -> Head:
        """Return the newest block once its number is at least `number`.

        The subscription is taken anew for every block and the head read again, so that a dropped connection costs
        nothing; what fails meanwhile is tried again.

        Raises:
            ChainUnreachableError: no new block was seen for `limits.no_block_s`; the text says what failed last.
        """
        newest, since, trouble = -1, self._clock.monotonic(), ""
        while True:
            try:
                head = await self.head()
                if head.number >= number:
                    return head
                if head.number > newest:
                    newest, since, trouble = head.number, self._clock.monotonic(), ""
                await self._next_block(newest + 1, self._left(since))
            except ChainError as error:
                if self._connection.closed:
                    raise
                trouble = error.detail or str(error)
                await self._clock.sleep(min(_PAUSE_S, max(0.0, self._left(since))))
            if self._left(since) <= 0:
                seen = f"; {trouble}" if trouble else ""
                raise ChainUnreachableError(f"no new block for {self._limits.no_block_s:g} s{seen}")

    async def snapshot(self) -> MetagraphSnapshot:
        """Return the subnet as of the newest block (NoSubnetError: there is none)."""
        return await self._connection.read("metagraph", self._reads.snapshot)

    async def parameters(self) -> SubnetParameters:
        """Return the subnet's parameters as of now."""
        return await self._connection.read("parameters", self._reads.parameters)

    async def set_weights(self, mechid: int, weights: Mapping[int, float], *, valid_blocks: int) -> WeightsResult:
        """Submit weights, as a commitment where the subnet wants one, and wait until they are final.

        Certain not to have been sent is everything before the signature; afterwards only an answer that names the
        block, or the pool's refusal, is certain.
        """
        call = weights_call(self.netuid, mechid, weights, era_period(valid_blocks))
        return await self._submit("set_weights", call)

    def submission_lifetime(self, valid_blocks: int) -> int:
        """Return the era's length and what may pass before it begins, blocks."""
        return submission_lifetime(valid_blocks)

    async def last_update(self, mechid: int, uid: int) -> int:
        """Return the block of the neuron's last weights or commitment."""
        return await self._connection.read("last update", lambda node: self._reads.last_update(node, mechid, uid))

    async def registered_at(self, uid: int) -> int:
        """Return the block at which the holder of `uid` registered."""
        return await self._connection.read("registration", lambda node: self._reads.registered_at(node, uid))

    async def commits(self, mechid: int) -> Sequence[int]:
        """Return the blocks of this hotkey's commits that are not revealed; none where the runtime keeps none."""
        return await self._connection.read("commits", lambda node: self._reads.commits(node, mechid))

    async def weights(self, mechid: int, uid: int) -> Mapping[int, int]:
        """Return the weights that the neuron at `uid` has set."""
        return await self._connection.read("weights", lambda node: self._reads.weights(node, mechid, uid))

    async def commitment(self, hotkey: str) -> Commitment | None:
        """Return what a hotkey has committed to (MissingError: the runtime keeps no commitments)."""
        return await self._connection.read("commitment", lambda node: commitment_of(node, self.netuid, hotkey))

    async def set_commitment(self, content: bytes, *, valid_blocks: int) -> WeightsResult:
        """Commit to `content`, as one plain field, and wait until it is final; certain as `set_weights` is."""
        return await self._submit("set_commitment", commitment_call(self.netuid, content, era_period(valid_blocks)))

    async def announce_axon(self, ip: str, port: int) -> None:
        """Announce on chain where this hotkey listens: for miners.

        Raises:
            ChainUnreachableError: no connection, or no answer in time.
            ChainError: the chain refused; the text names the error.
        """
        intent = bt.ServeAxon(netuid=self.netuid, ip=ip, port=port)
        async with self._spare() as spare:
            result = await spare.ask(
                "serve axon", lambda client: client.execute(intent, self._signer.keypair), self._limits.submit_s
            )
        if not result.success:
            raise ChainError(f"serve axon: {words(result.error or bt.ChainError(result.message))}")

    async def close(self) -> None:
        """Release the connection."""
        if self._diagnosis is not None:
            await ended([self._diagnosis])
        await self._connection.close()

    async def _submit(self, what: str, call: Execute) -> WeightsResult:
        async with self._spare() as spare:
            try:
                await spare.read("genesis", self._reads.genesis)
            except ChainError as error:
                raise ChainUnreachableError(f"{what}: nothing was sent: {error.detail or error}") from error
            return await Submission(spare, self._clock, self._signer, self._limits, what).send(call)

    async def _next_block(self, number: int, seconds: float) -> None:
        client = await self._connection.client()
        try:
            await within(self._clock, max(0.001, seconds), client.wait_for_block(number))
        except TimeoutError:
            return
        except SDK_ERRORS as error:
            raise self._connection.translated("blocks", error) from error

    def _left(self, since: float) -> float:
        return since + self._limits.no_block_s - self._clock.monotonic()

    @asynccontextmanager
    async def _spare(self) -> AsyncIterator[Connection]:
        """Connect once more, to sign one thing."""
        if self._connection.closed:
            raise ChainUnreachableError("the connection was closed")
        connection = self._connect(stubborn=False)
        try:
            yield connection
        finally:
            await connection.close()

    async def _diagnose(self) -> str:
        """Return what is at the endpoints; once for all that ask at the same time."""
        if self._diagnosis is None or self._diagnosis.done():
            self._diagnosis = asyncio.create_task(diagnosis(self.endpoints))
        return await asyncio.shield(self._diagnosis)

    def _connect(self, *, stubborn: bool) -> Connection:
        return Connection(
            lambda: open_client(
                self.endpoints,
                self.netuid,
                self._substrate,
                stubborn=stubborn,
                silence_s=_SILENCE * self._limits.call_s,
            ),
            self._clock,
            self._limits.call_s,
            self.endpoints,
            None if self._substrate is not None else self._diagnose,
        )
