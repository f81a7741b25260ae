"""The subnet as a round sees it: one snapshot, pinned to a block (SPEC 8)."""

from validator.protocol.sssa import Document


class Axon(Document, frozen=True):
    """Where a miner listens, as announced on chain."""

    ip: str
    port: int
    tls: bool = False


class Neuron(Document, frozen=True):
    """One slot of the metagraph. `stake_tao` in TAO."""

    hotkey: str
    uid: int
    stake_tao: float
    validator_permit: bool
    axon: Axon | None
    last_update: int = 0


class MetagraphSnapshot(Document, frozen=True):
    """The subnet as of one block; every read of a round is pinned to it.

    Attributes:
        netuid: the subnet.
        block: block number.
        block_hash: lower-case hex without 0x.
        block_time: the block's time, seconds since the Unix epoch.
        epoch: subnet epoch index (D-22).
        tempo: blocks in an epoch, less one.
        owner_hotkey: who takes what cannot be placed (D-11); None where the chain names nobody.
        neurons: by uid.
    """

    netuid: int
    block: int
    block_hash: str
    block_time: int
    epoch: int
    tempo: int
    owner_hotkey: str | None
    neurons: tuple[Neuron, ...]

    def by_hotkey(self, hotkey: str) -> Neuron | None:
        """Return the neuron registered with `hotkey`, None if there is none."""
        return next((neuron for neuron in self.neurons if neuron.hotkey == hotkey), None)
