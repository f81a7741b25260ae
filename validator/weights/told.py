"""The log of weights: a receipt for each vector that is computed, and for what becomes of it (SPEC 16, D-28)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec import UNSET

from validator.chain.weight_rows import to_u16
from validator.protocol.reasons import Reason
from validator.protocol.receipt import (
    FateLink,
    FateState,
    Kind,
    Owner,
    WeightedMiner,
    WeightsDocument,
    WeightsLink,
    line,
    line_digest,
)
from validator.protocol.round import MetagraphSnapshot
from validator.protocol.signatures import Signer
from validator.protocol.text import printable
from validator.scoring import Share
from validator.sources import Clock, RandomBytes
from validator.store import Transaction
from validator.store.log import append_link, open_log
from validator.store.vector_inputs import Basis
from validator.weights.plan import ASSESSMENTS, WORKFLOWS, Vector, owner_of

_MOST_UNSENT: Final = 8  # vectors of a mechanism and an epoch that are told and not sent
_MAX_EXTRINSIC: Final = 128


@dataclass(frozen=True, slots=True)
class WeightsLog:
    """Writes the receipts of one mechanism, in the caller's transactions.

    Args:
        signer: the validator's hotkey.
        clock: for the time of each.
        random: for the first salt, where the log is not opened yet.
        netuid, mechid: which vectors.
        kinds: what the mechanism pays for.
    """

    signer: Signer
    clock: Clock
    random: RandomBytes
    netuid: int
    mechid: int
    kinds: Sequence[Share]

    async def vector(
        self, tx: Transaction, snapshot: MetagraphSnapshot, basis: Basis, vector: Vector, reason: Reason | None
    ) -> int | None:
        """Tell a vector and return the number of its receipt.

        What was said last of the epoch is not said again: then that receipt is the vector's. Of vectors that are not
        sent only so many are told.

        Args:
            tx: the windows were read in it.
            snapshot: what it was computed on.
            basis: what it was computed from.
            vector: what it came to.
            reason: why it is not sent; None: it is about to be.

        Returns:
            None if it is one too many.
        """
        key = (self.netuid, self.mechid, snapshot.epoch)
        told = line("weights", document_of(snapshot, basis, vector, self.kinds))
        sha256 = line_digest(told)
        last = await tx.weight_links.newest(*key)
        if last is not None and (last.sha256, last.reason) == (sha256, reason):
            return last.sequence
        if reason is not None and await tx.weight_links.unsent(*key) >= _MOST_UNSENT:
            return None
        await self._open(tx)
        block, version = snapshot.block, vector.scoring_version
        link = WeightsLink(*key, block, snapshot.block_hash, version, None if reason is None else str(reason), sha256)
        sequence = await append_link(tx, self.signer, self.clock.now(), link)
        await tx.weight_links.add(sequence, link, told)
        return sequence

    async def fate(
        self,
        tx: Transaction,
        link: int | None,
        state: FateState,
        block: int | None = None,
        extrinsic: str | None = None,
    ) -> None:
        """Tell what became of weights that were sent; nothing of those that the log does not know."""
        if link is None:
            return
        shown = None if extrinsic is None else printable(extrinsic, _MAX_EXTRINSIC)
        await append_link(tx, self.signer, self.clock.now(), FateLink(link, state, shown, block))

    async def _open(self, tx: Transaction) -> None:
        """Open the log of a store that has none: its first round is the first that has not ended."""
        if await tx.receipts.count():
            return
        unfinished = await tx.rounds.unfinished()
        first = unfinished[0].record.round_id if unfinished else await tx.rounds.next_id()
        await open_log(tx, self.signer, self.clock.now(), self.random, first)


def document_of(snapshot: MetagraphSnapshot, basis: Basis, vector: Vector, kinds: Sequence[Share]) -> WeightsDocument:
    """Return what the log says of a vector."""
    unpaid: dict[str, dict[str, str]] = {}
    for one in vector.unpaid:
        unpaid.setdefault(one.hotkey, {})[one.skill_type] = str(one.reason)
    owner = owner_of(snapshot)
    return WeightsDocument(
        kinds=_names(kinds),
        round_id=None if basis.round_id is None else str(basis.round_id),
        next_round=str(basis.next_round),
        since_round=None if basis.since_round is None else str(basis.since_round),
        owner=None if owner is None else Owner(owner.hotkey, owner.uid),
        miners=_miners(snapshot, vector, unpaid),
        workflow_share=vector.workflow_share,
        unallocated=vector.unallocated,
        row=tuple(to_u16(vector.uids).items()),
    )


def _miners(
    snapshot: MetagraphSnapshot, vector: Vector, unpaid: Mapping[str, dict[str, str]]
) -> tuple[WeightedMiner, ...]:
    uids = {neuron.hotkey: neuron.uid for neuron in snapshot.neurons}
    return tuple(
        WeightedMiner(
            hotkey=hotkey,
            uid=uids[hotkey],
            assessments=vector.assessments[hotkey],
            workflows=vector.workflows[hotkey],
            weight=vector.weights.get(hotkey, 0.0),
            unpaid=unpaid.get(hotkey, UNSET),
        )
        for hotkey in sorted(vector.scores)
    )


def _names(kinds: Sequence[Share]) -> tuple[Kind, ...]:
    types = {name for kind in kinds for name in kind.types}
    first: Mapping[Kind, str] = {"assessments": ASSESSMENTS[0], "workflows": WORKFLOWS[0]}
    return tuple(name for name, one in first.items() if one in types)
