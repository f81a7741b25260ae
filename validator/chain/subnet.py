"""A subnet without a chain: its rules, slots and weights."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from validator.chain.base import ChainError, Commitment, SubnetParameters, WeightsResult
from validator.chain.ledger import Blocks, Commitments, Ledger, Pending
from validator.chain.state import (
    STATE_VERSION,
    Slot,
    SubnetRules,
    SubnetState,
    WeightRow,
    check_rules,
    check_slot,
    load_state,
    save_state,
)
from validator.chain.weight_rows import incentives, to_u16
from validator.protocol.round import Axon, MetagraphSnapshot, Neuron
from validator.protocol.strict_json import SchemaError
from validator.sources import Clock


class RegistrationError(ChainError):
    """The subnet refused the registration."""


class SimulatedSubnet:
    """The world that simulated chains share; every change is stored before the call returns.

    Args:
        state: where it stands; `SimulatedSubnet.create` makes a new one.
        clock: blocks follow it.
        file: keeps the state; None keeps it in memory alone.
    """

    def __init__(self, state: SubnetState, clock: Clock, file: Path | None = None) -> None:
        rules = state.rules
        self.rules = rules
        self.blocks = Blocks(
            clock, seed=rules.seed, genesis=rules.genesis, block_time_s=rules.block_time_s, tempo=rules.tempo
        )
        self._file = file
        self._slots = {slot.uid: slot for slot in state.neurons}
        self._ledger = Ledger(state.weights, state.commits, rules)
        self._commitments = Commitments(state.commitments, rules)

    @classmethod
    def create(cls, rules: SubnetRules, clock: Clock, file: Path | None = None) -> "SimulatedSubnet":
        """Return an empty subnet and write its file; one that is there is replaced.

        Raises:
            ChainStateError: a rule is out of range, or the file cannot be written.
        """
        check_rules(rules)
        subnet = cls(SubnetState(STATE_VERSION, rules), clock, file)
        subnet._store()
        return subnet

    @classmethod
    def open(cls, file: Path, clock: Clock) -> "SimulatedSubnet":
        """Return the subnet that `file` keeps; blocks went on while nobody looked.

        Raises:
            ChainStateError: the file cannot be used.
        """
        return cls(load_state(file), clock, file)

    @property
    def state(self) -> SubnetState:
        """The subnet as a document."""
        self._settle()
        return self._document()

    # Neurons

    def register(
        self, hotkey: str, *, stake_tao: float = 0.0, validator_permit: bool = False, axon: Axon | None = None
    ) -> int:
        """Give `hotkey` a slot and return its uid: the lowest free one, else that of the neuron that is replaced.

        Replaced is whoever earns least, then registered first, among those past immunity that are neither the owner
        nor permitted validators (those live on dividends, which are not simulated).

        Raises:
            RegistrationError: it is registered already, or nobody may be replaced.
        """
        self._settle()
        if self._slot(hotkey) is not None:
            raise RegistrationError(f"{hotkey} is registered already")
        block = self.blocks.number()
        uid = next((uid for uid in range(self.rules.max_uids) if uid not in self._slots), None)
        if uid is None:
            uid = self._replaceable(block)
        slot = _checked(Slot(uid, hotkey, stake_tao, validator_permit, axon, last_update=block, registered_at=block))
        self._clear(uid)
        self._put(slot)
        return uid

    def deregister(self, hotkey: str) -> int:
        """Free the slot of `hotkey` and return its uid.

        Raises:
            ChainError: it is not registered.
        """
        self._settle()
        uid = self._registered(hotkey).uid
        self._clear(uid)
        self._store()
        return uid

    def serve_axon(self, hotkey: str, axon: Axon | None) -> None:
        """Announce where `hotkey` listens (ChainError: not registered)."""
        self._change(hotkey, axon=axon)

    def set_stake(self, hotkey: str, stake_tao: float) -> None:
        """Set the stake of `hotkey`, TAO (ChainError: not registered)."""
        self._change(hotkey, stake_tao=stake_tao)

    def set_permit(self, hotkey: str, validator_permit: bool) -> None:
        """Give or take the validator permit of `hotkey` (ChainError: not registered)."""
        self._change(hotkey, validator_permit=validator_permit)

    def incentives(self) -> Mapping[int, float]:
        """Return the share of what mechanism 0 pays that goes to each uid now; uids that get none are left out.

        Weights set before the uid's present owner registered were meant for somebody else and do not count.
        """
        self._settle()
        rows = [row for row in self._ledger.rows if row.mechid == 0 and self._slots[row.uid].validator_permit]
        return incentives(
            {row.uid: {uid: float(u16) for uid, u16 in row.targets if self._meant(row, uid)} for row in rows},
            {row.uid: self._slots[row.uid].stake_tao for row in rows},
        )

    def snapshot(self) -> MetagraphSnapshot:
        """Return the subnet as of the newest block."""
        self._settle()
        head = self.blocks.head()
        neurons = tuple(
            Neuron(slot.hotkey, uid, slot.stake_tao, slot.validator_permit, slot.axon, slot.last_update)
            for uid, slot in sorted(self._slots.items())
        )
        rules = self.rules
        return MetagraphSnapshot(
            rules.netuid, head.number, head.hash, head.time, head.epoch, rules.tempo, rules.owner_hotkey, neurons
        )

    def parameters(self) -> SubnetParameters:
        """Return what the subnet asks of validators."""
        rules = self.rules
        return SubnetParameters(
            rules.tempo,
            rules.weights_rate_limit,
            rules.min_stake_tao,
            rules.version_key,
            rules.reveal_epochs > 0,
            rules.mechanisms,
        )

    # Weights

    def set_weights(self, hotkey: str, mechid: int, weights: Mapping[int, float]) -> WeightsResult:
        """Take or refuse weights in the newest block, with the pallet's names for the reasons.

        Raises:
            ChainError: weights that no chain could be sent: negative, not finite, a uid outside u16.
        """
        values = to_u16(weights)
        self._settle()
        return self._include(hotkey, mechid, values, self.blocks.number())

    def submit(
        self, hotkey: str, mechid: int, weights: Mapping[int, float], *, delay: int | None, valid_blocks: int
    ) -> Pending:
        """Give the pool weights, signed now, that a block `delay` blocks from now will hold; None: the pool loses them.

        They are taken or refused as they meet the subnet then; past `valid_blocks` no block holds them.

        Raises:
            ChainError: as for `set_weights`.
        """
        number = self.blocks.number()
        due = None if delay is None else number + delay
        return self._pooled(Pending(hotkey, mechid, to_u16(weights), due, number + valid_blocks))

    def submit_commitment(self, hotkey: str, content: bytes, *, delay: int | None, valid_blocks: int) -> Pending:
        """Give the pool a commitment, as `submit` does weights."""
        number = self.blocks.number()
        due = None if delay is None else number + delay
        return self._pooled(Pending(hotkey, 0, {}, due, number + valid_blocks, content))

    def commitment(self, hotkey: str) -> Commitment | None:
        """Return what `hotkey` has committed to, None if nothing."""
        self._settle()
        return self._commitments.of(hotkey)

    def _pooled(self, pending: Pending) -> Pending:
        self._ledger.wait(pending)
        self._settle()
        return pending

    def weights(self, mechid: int, uid: int) -> dict[int, int]:
        """Return the row of `uid` that is in force: target uid to u16."""
        self._settle()
        row = self._ledger.row(mechid, uid)
        return dict(row.targets) if row else {}

    def last_update(self, mechid: int, uid: int) -> int:
        """Return the block at which `uid` last set or committed weights, or registered (ChainError: nobody there)."""
        self._settle()
        return self._ledger.last_update(mechid, self._at(uid))

    def registered_at(self, uid: int) -> int:
        """Return the block at which the holder of `uid` registered (ChainError: nobody there)."""
        return self._at(uid).registered_at

    def commits(self, mechid: int, hotkey: str) -> Sequence[int]:
        """Return the blocks at which `hotkey` committed what is not revealed yet."""
        self._settle()
        slot = self._slot(hotkey)
        return [] if slot is None else self._ledger.committed(mechid, slot.uid)

    def _settle(self) -> None:
        """Do what the blocks since the last look hold."""
        number = self.blocks.number()
        for pending in self._ledger.due(number):
            block = pending.due or number
            if pending.content is None:
                pending.result = self._include(pending.hotkey, pending.mechid, pending.values, block)
            else:
                pending.result = self._commit(pending.hotkey, pending.content, block)
        if self._ledger.reveal(number):
            self._store()

    def _include(self, hotkey: str, mechid: int, values: Mapping[int, int], block: int) -> WeightsResult:
        slot = self._slot(hotkey)
        if slot is None:
            return WeightsResult(False, "HotKeyNotRegisteredInSubNet", None, None)
        result = self._ledger.include(slot, mechid, values, block, self._slots.keys())
        if result.accepted:
            self._put(msgspec.structs.replace(slot, last_update=block if mechid == 0 else slot.last_update))
        return result

    def _meant(self, row: WeightRow, uid: int) -> bool:
        return uid in self._slots and row.block > self._slots[uid].registered_at

    def _commit(self, hotkey: str, content: bytes, block: int) -> WeightsResult:
        result = self._commitments.include(hotkey, content, block, registered=self._slot(hotkey) is not None)
        if result.accepted:
            self._store()
        return result

    # Slots

    def _slot(self, hotkey: str) -> Slot | None:
        return next((slot for slot in self._slots.values() if slot.hotkey == hotkey), None)

    def _at(self, uid: int) -> Slot:
        slot = self._slots.get(uid)
        if slot is None:
            raise ChainError(f"no neuron has uid {uid}")
        return slot

    def _registered(self, hotkey: str) -> Slot:
        slot = self._slot(hotkey)
        if slot is None:
            raise ChainError(f"{hotkey} is not registered")
        return slot

    def _replaceable(self, block: int) -> int:
        candidates = [
            slot
            for slot in self._slots.values()
            if block - slot.registered_at >= self.rules.immunity_period
            and slot.hotkey != self.rules.owner_hotkey
            and not slot.validator_permit
        ]
        if not candidates:
            raise RegistrationError("no uid is free and nobody may be replaced")
        paid = self.incentives()
        return min(candidates, key=lambda slot: (paid.get(slot.uid, 0.0), slot.registered_at, slot.uid)).uid

    def _change(self, hotkey: str, **changes: object) -> None:
        self._settle()
        self._put(_checked(msgspec.structs.replace(self._registered(hotkey), **changes)))

    def _put(self, slot: Slot) -> None:
        self._slots[slot.uid] = slot
        self._store()

    def _clear(self, uid: int) -> None:
        self._slots.pop(uid, None)
        self._ledger.clear(uid)

    def _store(self) -> None:
        if self._file is not None:
            save_state(self._document(), self._file)

    def _document(self) -> SubnetState:
        neurons = tuple(self._slots[uid] for uid in sorted(self._slots))
        return SubnetState(
            STATE_VERSION, self.rules, neurons, self._ledger.rows, self._ledger.commits, self._commitments.rows
        )


def _checked(slot: Slot) -> Slot:
    try:
        check_slot(slot)
    except SchemaError as error:
        raise ChainError(error.detail) from None
    return slot
