"""The interface of a chain, `Chain`: every call that the validator makes, with its values and errors. No I/O."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol

from sssa.protocol.errors import ValidatorError
from sssa.protocol.round import MetagraphSnapshot

# What this program's weights carry: the scoring version as major * 1,000,000 + minor * 1,000 + patch. Subnets refuse
# keys below their own.
VERSION_KEY: Final = 1_000_000
# More blocks behind the highest known one than a slow endpoint or a fork explains.
MOST_BEHIND: Final = 20
# A node is slow if an answer takes longer.
SLOW_S: Final = 1.0


class ChainError(ValidatorError):
    """The chain refused a call or gave an unusable answer."""


class ChainUnreachableError(ChainError):
    """The chain could not be reached."""


class MissingError(ChainError):
    """The chain's runtime does not have this."""


class NoSubnetError(ChainError):
    """The chain has no such subnet."""


class OtherChainError(ChainError):
    """The node serves another chain than before."""


class BehindError(ChainError):
    """The node is behind a block that it, or another endpoint, has shown before."""


class NotRegisteredError(ChainError):
    """The hotkey is not registered on the subnet."""


@dataclass(frozen=True, slots=True)
class Head:
    """The newest block.

    Attributes:
        hash: lower-case hex without 0x.
        time: seconds since the Unix epoch.
        epoch: subnet epoch index (D-22).
        epoch_end: the last block of that epoch as now planned; None where the chain does not tell.
        epoch_start: the block of the step before it, with which the epoch began; None where the chain does not tell.
            Where the block's number decides, as if the tempo had always been the same; it may then be below 0.
    """

    number: int
    hash: str
    time: int
    epoch: int
    epoch_end: int | None = None
    epoch_start: int | None = None


class SubnetParameters(NamedTuple):
    """Parameters that the subnet sets for validators.

    Attributes:
        tempo: blocks in an epoch, less one; on runtimes with their own epoch index not less.
        weights_rate_limit: blocks that must be between a neuron's last update and its next weights.
        min_stake_tao: least stake with which weights may be set, TAO.
        version_key: least version key that weights must carry.
        commit_reveal: whether weights are committed first and revealed by the chain later.
        mechanisms: number of mechanism ids; valid ids are 0 to this less one.
        takes_commitments: whether the runtime has the call that commits weights.
        min_allowed_weights: least number of targets in a row; the number of neurons, if that is smaller.
        reveal_epochs: a commitment is revealed when so many epochs have begun since.
        owner_exempt: whether the subnet owner's hotkey needs neither a permit nor the least stake.
    """

    tempo: int
    weights_rate_limit: int
    min_stake_tao: float
    version_key: int
    commit_reveal: bool
    mechanisms: int
    takes_commitments: bool = True
    min_allowed_weights: int = 0
    reveal_epochs: int = 1
    owner_exempt: bool = True


class WeightsResult(NamedTuple):
    """The chain's reply to a submission.

    Attributes:
        accepted: whether the weights (or the commitment to them) are on chain.
        message: `code (Name): text` of a refusal; empty when it accepted without any.
        block: block of inclusion, None if unknown or refused before inclusion.
        extrinsic: the chain's id of the submission, or None.
    """

    accepted: bool
    message: str
    block: int | None
    extrinsic: str | None


class ValidatorFigures(NamedTuple):
    """Figures of one validator after the subnet's last step.

    Attributes:
        trust: 0 to 1: the share of its row that the consensus agrees with.
        dividends: its share of what validators earn, 0 to 1.
        emission_alpha: what it earned in the last epoch, in the subnet's own token.
    """

    uid: int
    trust: float
    dividends: float
    emission_alpha: float


class Commitment(NamedTuple):
    """Data that a hotkey has published on the subnet, other than weights.

    Attributes:
        block: of the newest one.
        content: its bytes, if it is one plain field; None where it is anything else (a hash, sealed, several fields).
    """

    block: int
    content: bytes | None


class EndpointUse(NamedTuple):
    """State of a chain's endpoints, by their shown urls.

    Attributes:
        used: the connected one; empty if none is, or the chain has none.
        unhealthy: reason by endpoint that should not be used now; the used one too, if no other is healthy.
    """

    used: str = ""
    unhealthy: Mapping[str, str] = MappingProxyType({})


class Chain(Protocol):
    """One subnet as one hotkey uses it.

    Every method may raise ChainUnreachableError (nothing is known) or another ChainError (the answer is not usable).
    The first genesis and the highest block are remembered: heads, snapshots and submissions on another chain raise
    OtherChainError, heads and snapshots more than `MOST_BEHIND` blocks below it BehindError.
    """

    @property
    def latency_s(self) -> float | None:
        """Duration of the newest call, seconds; None before the first."""

    @property
    def endpoint_use(self) -> EndpointUse:
        """The endpoint in use, and why others are not."""

    def expect(self, genesis: str) -> None:
        """Prefer endpoints of the chain with this genesis, hex without 0x, before any is known."""

    async def genesis(self) -> str:
        """Return the hash of block 0, which identifies the chain; lower-case hex without 0x."""

    async def head(self) -> Head:
        """Return the newest block."""

    async def wait_for_block(self, number: int) -> Head:
        """Return the newest block once its number is at least `number`."""

    async def snapshot(self) -> MetagraphSnapshot:
        """Return the subnet, every value read at one and the same block."""

    async def parameters(self) -> SubnetParameters:
        """Return the subnet's parameters as of now."""

    async def validators(self) -> Sequence[ValidatorFigures]:
        """Return the figures of all neurons with a validator permit, by uid."""

    async def set_weights(
        self, mechid: int, weights: Mapping[int, float], *, valid_blocks: int, head: int | None = None
    ) -> WeightsResult:
        """Submit weights for one mechanism, signed by this validator's hotkey.

        A submission is mortal: one that is not on chain `submission_lifetime(valid_blocks)` blocks past `head` never
        will be. It may get there after this call has failed or was cancelled, but nothing is signed once the
        cancellation was taken.

        Args:
            mechid: mechanism id.
            weights: uid to relative weight, finite and not negative. What is sent is `to_u16` of them and nothing else,
                which leaves a row of u16 as it is.
            valid_blocks: for how many blocks past the head it may be included, from 1.
            head: the newest block that the caller knows; nothing is signed once the chain is much further. None: the
                newest one at the call.

        Returns:
            The chain's answer. A refusal is a result, not an error; one by the runtime is in a block, with an id.

        Raises:
            ChainUnreachableError: certain not to have been sent.
            ChainError: other failures; whether the weights arrived is unknown.
        """

    def submission_lifetime(self, valid_blocks: int) -> int:
        """Return after how many blocks such a submission has expired for certain; not less than `valid_blocks`."""

    async def last_update(self, mechid: int, uid: int) -> int:
        """Return the block at which the neuron last set or committed weights for the mechanism.

        Registration counts as an update; the reveal of weights that were committed does not.

        Raises:
            ChainError: no neuron has this uid.
        """

    async def registered_at(self, uid: int) -> int:
        """Return the block at which the present holder of `uid` registered (ChainError: no neuron has this uid)."""

    async def commits(self, mechid: int) -> Sequence[int]:
        """Return the blocks, ascending, at which this hotkey committed weights that are not revealed yet."""

    async def weights(self, mechid: int, uid: int) -> Mapping[int, int]:
        """Return the weights that the neuron at `uid` has on chain: target uid to u16, no zeros; empty if none.

        Committed weights show once they are revealed.
        """

    async def commitment(self, hotkey: str) -> Commitment | None:
        """Return what `hotkey`, registered or not, has committed to on the subnet; None if nothing.

        Raises:
            MissingError: the runtime keeps no commitments.
        """

    async def set_commitment(self, content: bytes, *, valid_blocks: int) -> WeightsResult:
        """Commit this hotkey to `content`, in the place of what it committed to before; weights are not touched.

        Mortal as `set_weights` is. The chain refuses what is more than an epoch's space.

        Args:
            content: 1 to 128 bytes, for everybody to read.
            valid_blocks: for how many blocks past the head it may be included, from 1.

        Returns:
            The chain's answer; a refusal is a result, not an error.

        Raises:
            ChainUnreachableError: certain not to have been sent.
            MissingError: the same: the runtime has no such call.
            ChainError: other failures; whether it arrived is unknown.
        """

    async def close(self) -> None:
        """Release the connection; the chain cannot be used afterwards."""
