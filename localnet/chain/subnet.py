"""A simulated subnet: its rules, slots, blocks, weights and commitments, and the file that keeps them.

One JSON object, closed at every level: `state_version` "1", `rules`, `neurons` by uid, `weights` by mechanism and uid,
`commits` in order, `commitments` by hotkey. Blocks are not in it: they follow from `rules.genesis` and the clock; nor
are submissions that no block holds yet: they are gone with the process.
"""

import hashlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from sssa.files import why, write_file
from sssa.protocol import typed
from sssa.protocol.round import Axon, MetagraphSnapshot, Neuron
from sssa.protocol.sssa import Document
from sssa.protocol.strict_json import JsonError, SchemaError, decode
from sssa.protocol.text import printable
from sssa.protocol.weight_rows import U16_MAX, incentives, to_u16, trusts
from sssa.sources import Clock
from validator.chain.interface import (
    VERSION_KEY,
    ChainError,
    Commitment,
    Head,
    SubnetParameters,
    ValidatorFigures,
    WeightsResult,
)

STATE_VERSION: Final = "1"
_MAX_FILE: Final = 16 * 1024 * 1024
_SMALL = Annotated[int, Meta(ge=0, le=U16_MAX)]
_Blocks = Annotated[int, Meta(ge=0, le=2**53 - 1)]
_Tao = Annotated[float, Meta(ge=0, le=21e6)]
_Key = Annotated[str, Meta(pattern=r"\A[0-9A-Za-z]{1,64}\Z")]


class ChainStateError(ChainError):
    """The simulated chain's file cannot be used."""


class SubnetRules(Document, frozen=True):
    """Constants of a simulated subnet.

    Attributes:
        seed: block hashes follow from it.
        genesis: time of block 0, whole seconds since the Unix epoch.
        block_time_s: seconds between blocks.
        tempo: blocks in an epoch, less one.
        immunity_period: blocks during which a new neuron cannot be replaced.
        weights_rate_limit: blocks between two submissions of one neuron.
        min_stake_tao: least stake with which weights may be set, TAO.
        min_allowed_weights: least number of targets in a row; the number of neurons, if that is smaller.
        max_weights_limit: most of a row's sum that one weight may have; the runtime does not apply it.
        mechanisms: number of mechanism ids.
        owner_hotkey: the subnet owner's; None if it names nobody.
        version_key: least version key that weights must carry.
        commitment_space: bytes that one hotkey may commit to in an epoch; each time counts for 100 at least.
        reveal_epochs: weights are committed, and revealed when so many epochs have begun since; 0: set in the open.
    """

    seed: str
    genesis: Annotated[int, Meta(ge=0, le=253_402_300_799)]
    netuid: _SMALL = 1
    block_time_s: Annotated[float, Meta(ge=0.001, le=60)] = 12.0
    tempo: Annotated[int, Meta(ge=1, le=U16_MAX)] = 360
    max_uids: Annotated[int, Meta(ge=1, le=U16_MAX + 1)] = 256
    immunity_period: _Blocks = 4096
    weights_rate_limit: _Blocks = 100
    min_stake_tao: _Tao = 0.0
    min_allowed_weights: _SMALL = 0
    max_weights_limit: _SMALL = U16_MAX
    mechanisms: Annotated[int, Meta(ge=1, le=256)] = 1
    owner_hotkey: _Key | None = None
    version_key: _Blocks = 0
    reveal_epochs: Annotated[int, Meta(ge=0, le=1_000)] = 0
    commitment_space: _Blocks = 3_100


class Slot(Document, frozen=True):
    """A registered neuron. `last_update` (of mechanism 0) and `registered_at` are block numbers."""

    uid: _SMALL
    hotkey: _Key
    stake_tao: _Tao
    validator_permit: bool
    axon: Axon | None
    last_update: _Blocks
    registered_at: _Blocks


class WeightRow(Document, frozen=True):
    """One neuron's weights for one mechanism: (target uid, u16), by uid, as set or committed in `block`."""

    mechid: Annotated[int, Meta(ge=0, le=255)]
    uid: _SMALL
    block: _Blocks
    targets: tuple[tuple[_SMALL, Annotated[int, Meta(ge=1, le=U16_MAX)]], ...]


class CommitmentRow(Document, frozen=True):
    """Commitment of a hotkey in `block`: bytes as hex, and the space of the epoch used up to then."""

    hotkey: _Key
    block: _Blocks
    content: Annotated[str, Meta(pattern=r"\A([0-9a-f]{2}){1,128}\Z")]
    space: _Blocks


class SubnetState(Document, frozen=True):
    """Everything about a simulated subnet but the present block."""

    state_version: Literal["1"]
    rules: SubnetRules
    neurons: tuple[Slot, ...] = ()
    weights: tuple[WeightRow, ...] = ()
    commits: tuple[WeightRow, ...] = ()
    commitments: tuple[CommitmentRow, ...] = ()


def load_state(file: Path) -> SubnetState:
    """Return the state that `save_state` wrote.

    Raises:
        ChainStateError: no such file, not such a document, or one that contradicts itself; the text names the field.
    """
    name = printable(str(file))
    try:
        with file.open("rb") as stream:
            data = stream.read(_MAX_FILE + 1)
        state = decode(data, SubnetState, limit=_MAX_FILE)
    except OSError as error:
        raise ChainStateError(f"{name}: {error.strerror}") from None
    except JsonError as error:
        raise ChainStateError(f"{name}: {error.detail}") from None
    _check(state, name)
    return state


def save_state(state: SubnetState, file: Path) -> None:
    """Write the state so that a crash leaves the old file or the new one, never a part of one.

    Raises:
        ChainStateError: the file cannot be written.
    """
    data = msgspec.json.format(msgspec.json.encode(state), indent=1)
    try:
        write_file(file, data, replace=True)
    except OSError as error:
        raise ChainStateError(f"{printable(str(file))}: {why(error)}") from None


def check_rules(rules: SubnetRules) -> None:
    """Check rules that were built in code (ChainStateError: naming the field)."""
    try:
        typed.convert(msgspec.to_builtins(rules), SubnetRules)
    except msgspec.ValidationError as error:
        raise ChainStateError(f"rules: {printable(str(error))}") from None


def check_slot(slot: Slot) -> None:
    """Check a slot that was built in code, and what its types cannot say of its axon.

    Raises:
        SchemaError: naming the field.
    """
    try:
        typed.convert(msgspec.to_builtins(slot), Slot)
        if slot.axon is not None:
            ip_address(slot.axon.ip)
    except msgspec.ValidationError as error:
        raise SchemaError(printable(str(error))) from None
    except ValueError:
        raise SchemaError("not an address - at `axon.ip`") from None
    if slot.axon is not None and not 0 < slot.axon.port <= U16_MAX:
        raise SchemaError(f"not from 1 to {U16_MAX} - at `axon.port`")


def _check(state: SubnetState, name: str) -> None:
    for i, slot in enumerate(state.neurons):
        try:
            check_slot(slot)
        except SchemaError as error:
            raise ChainStateError(f"{name}: {error.detail.replace('at `', f'at `neurons[{i}].')}") from None
    rules, uids = state.rules, {slot.uid for slot in state.neurons}
    faults = (
        (any(uid >= rules.max_uids for uid in uids), "a uid is not below rules.max_uids - at `neurons`"),
        (_repeats(slot.uid for slot in state.neurons), "two neurons share a uid - at `neurons`"),
        (_repeats(slot.hotkey for slot in state.neurons), "two neurons share a hotkey - at `neurons`"),
        (_repeats(row.hotkey for row in state.commitments), "two of one hotkey - at `commitments`"),
        (_repeats((row.mechid, row.uid) for row in state.weights), "two rows of one neuron - at `weights`"),
        (any(row.uid not in uids for row in state.weights), "a row of an unregistered uid - at `weights`"),
        (any(row.uid not in uids for row in state.commits), "a commit of an unregistered uid - at `commits`"),
        (any(row.mechid >= rules.mechanisms for row in state.weights), "no such mechanism - at `weights`"),
        (any(row.mechid >= rules.mechanisms for row in state.commits), "no such mechanism - at `commits`"),
        (any(_repeats(uid for uid, _ in row.targets) for row in state.weights), "a target twice - at `weights`"),
    )
    if text := next((text for broken, text in faults if broken), None):
        raise ChainStateError(f"{name}: {text}")


def _repeats(values: Iterable[Hashable]) -> bool:
    listed = list(values)
    return len(set(listed)) != len(listed)


_MICROSECOND: Final = timedelta(microseconds=1)
MAX_COMMITS: Final = 10  # of one neuron, not revealed
VALIDATORS_ALPHA: Final = 0.41  # that validators earn in a block
_LEAST: Final = 100  # bytes of its space that a commitment takes, however short it is


# The SDK's codes of the pallet's errors, where it is not `invalid_argument`.
_CODES: Final[Mapping[str, str]] = {
    "HotKeyNotRegisteredInSubNet": "not_registered",
    "NotEnoughStakeToSetWeights": "insufficient_balance",
    "MechanismDoesNotExist": "subnet_not_exists",
    "NeuronNoValidatorPermit": "not_authorized",
    "SettingWeightsTooFast": "rate_limited",
    "CommittingWeightsTooFast": "rate_limited",
    "TooManyUnrevealedCommits": "limit_exceeded",
}


class RegistrationError(ChainError):
    """The subnet refused the registration."""


class Blocks:
    """The blocks of a simulated subnet.

    Args:
        rules: of the subnet; hashes follow from its seed.

    Attributes:
        identity: hex; another one for blocks that began at another time, whatever their seed.
    """

    def __init__(self, clock: Clock, rules: SubnetRules) -> None:
        self._clock = clock
        self._seed = rules.seed
        self._genesis = rules.genesis
        self._block_us = round(rules.block_time_s * 1_000_000)
        self._epoch_length = rules.tempo + 1
        self._offset = (rules.netuid - 1) % self._epoch_length
        self._newest = 0
        self.identity = hashlib.sha256(f"{rules.seed}|{rules.genesis}|genesis".encode()).hexdigest()

    def number(self) -> int:
        """Return the newest block's number; it never falls, even when the clock is set back."""
        self._newest = max(self._newest, self._elapsed_us() // self._block_us)
        return self._newest

    def head(self) -> Head:
        """Return the newest block; epochs are counted from block 0 (D-22)."""
        number = self.number()
        epoch = self.epoch(number)
        time = self._genesis + number * self._block_us // 1_000_000
        start = epoch * self._epoch_length - self._offset
        return Head(number, self.hash(number), time, epoch, start + self._epoch_length - 1, start)

    def epoch(self, number: int) -> int:
        """Return the epoch of a block; where it steps depends on the netuid, as on a chain."""
        return (number + self._offset) // self._epoch_length

    def hash(self, number: int) -> str:
        """Return the hash of any block, hex: sha256 of `seed|number`."""
        return hashlib.sha256(f"{self._seed}|{number}".encode()).hexdigest()

    async def wait_for(self, number: int) -> None:
        """Return once block `number` exists."""
        while self.number() < number:
            # Whole microseconds, at least one: a rest that rounds to nothing would never let the clock move.
            await self._clock.sleep(max(1, number * self._block_us - self._elapsed_us()) / 1_000_000)

    def _elapsed_us(self) -> int:
        return (self._clock.now() - datetime.fromtimestamp(self._genesis, UTC)) // _MICROSECOND


@dataclass(slots=True, eq=False)
class Pending:
    """A signed submission that no block holds yet.

    Attributes:
        hotkey: who signed it.
        mechid, values: the mechanism, and target uid to u16; of a commitment nothing.
        due: the block that will hold it; None if the pool has lost it.
        expires: the last block that may hold it.
        content: of a commitment; None for weights.
        result: the result of it, once a block holds it.
    """

    hotkey: str
    mechid: int
    values: Mapping[int, int]
    due: int | None
    expires: int
    content: bytes | None = None
    result: WeightsResult | None = None


class SimulatedSubnet:
    """The world that simulated chains share; every change is stored before the call returns.

    Args:
        state: where it is; `SimulatedSubnet.create` makes a new one.
        clock: blocks follow it.
        file: keeps the state; None keeps it in memory alone.

    Attributes:
        failing_reveals: so many rows more do not come into force, and nothing says so.
        altered_rows: so many rows more come into force with 1 as their first weight.
    """

    def __init__(self, state: SubnetState, clock: Clock, file: Path | None = None) -> None:
        self.rules = state.rules
        self.blocks = Blocks(clock, state.rules)
        self._file = file
        self._slots = {slot.uid: slot for slot in state.neurons}
        self._weights = {(row.mechid, row.uid): row for row in state.weights}
        self._commits = list(state.commits)
        self._commitments = {row.hotkey: row for row in state.commitments}
        self._pool: list[Pending] = []
        self._newest_extrinsic = 0, -1  # block, and place in it
        self.failing_reveals = 0
        self.altered_rows = 0

    @classmethod
    def create(cls, rules: SubnetRules, clock: Clock, file: Path | None = None) -> "SimulatedSubnet":
        """Return an empty subnet and write its file; one that exists is replaced.

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

        Replaced is anyone who earns least, then registered first, among those past immunity that are neither the owner
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
        """Free the slot of `hotkey` and return its uid (ChainError: not registered)."""
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
        return incentives(*self._counted_rows())

    def _counted_rows(self) -> tuple[Mapping[int, Mapping[int, float]], Mapping[int, float]]:
        """Return the rows of mechanism 0 that count, and the stakes behind them, by uid."""
        rows = [row for row in self._rows() if row.mechid == 0 and self._slots[row.uid].validator_permit]
        return (
            {row.uid: {uid: float(u16) for uid, u16 in row.targets if self._meant(row, uid)} for row in rows},
            {row.uid: self._slots[row.uid].stake_tao for row in rows},
        )

    def validators(self) -> Sequence[ValidatorFigures]:
        """Return the figures of all with a permit; dividends follow stake and trust: bonds are not simulated."""
        self._settle()
        slots = [slot for uid, slot in sorted(self._slots.items()) if slot.validator_permit]
        rows, stakes = self._counted_rows()
        trust = trusts(rows, stakes)
        earned = {slot.uid: slot.stake_tao * trust.get(slot.uid, 0.0) for slot in slots}
        total = sum(earned.values()) or 1.0
        epoch = self.rules.tempo * VALIDATORS_ALPHA
        return tuple(
            ValidatorFigures(uid, trust.get(uid, 0.0), one / total, epoch * one / total) for uid, one in earned.items()
        )

    def snapshot(self) -> MetagraphSnapshot:
        """Return the subnet as of the newest block."""
        self._settle()
        head, rules = self.blocks.head(), self.rules
        neurons = tuple(
            Neuron(slot.hotkey, uid, slot.stake_tao, slot.validator_permit, slot.axon, slot.last_update)
            for uid, slot in sorted(self._slots.items())
        )
        at = (head.number, head.hash, head.time, head.epoch)
        return MetagraphSnapshot(rules.netuid, *at, rules.tempo, rules.owner_hotkey, neurons)

    def parameters(self) -> SubnetParameters:
        """Return what the subnet asks of validators."""
        rules = self.rules
        values = (rules.tempo, rules.weights_rate_limit, rules.min_stake_tao, rules.version_key)
        return SubnetParameters(
            *values,
            rules.reveal_epochs > 0,
            rules.mechanisms,
            min_allowed_weights=rules.min_allowed_weights,
            reveal_epochs=max(1, rules.reveal_epochs),
        )

    # Weights and commitments

    def set_weights(self, hotkey: str, mechid: int, weights: Mapping[int, float]) -> WeightsResult:
        """Take or refuse weights in the newest block, with the pallet's names for the reasons.

        Raises:
            WeightRowError: weights that no chain could be sent: negative, not finite, a uid outside u16.
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
            WeightRowError: as for `set_weights`.
        """
        return self._pooled(hotkey, mechid, to_u16(weights), delay, valid_blocks)

    def submit_commitment(self, hotkey: str, content: bytes, *, delay: int | None, valid_blocks: int) -> Pending:
        """Give the pool a commitment, as `submit` does weights."""
        return self._pooled(hotkey, 0, {}, delay, valid_blocks, content)

    def commitment(self, hotkey: str) -> Commitment | None:
        """Return what `hotkey` has committed to, None if nothing."""
        self._settle()
        row = self._commitments.get(hotkey)
        return None if row is None else Commitment(row.block, bytes.fromhex(row.content))

    def weights(self, mechid: int, uid: int) -> dict[int, int]:
        """Return the row of `uid` that is in force: target uid to u16."""
        self._settle()
        row = self._weights.get((mechid, uid))
        return dict(row.targets) if row else {}

    def last_update(self, mechid: int, uid: int) -> int:
        """Return the block at which `uid` last set or committed weights, or registered (ChainError: nobody there)."""
        self._settle()
        return self._last_update(mechid, self._at(uid))

    def registered_at(self, uid: int) -> int:
        """Return the block at which the holder of `uid` registered (ChainError: nobody there)."""
        return self._at(uid).registered_at

    def commits(self, mechid: int, hotkey: str) -> Sequence[int]:
        """Return the blocks at which `hotkey` committed what is not revealed yet."""
        self._settle()
        slot = self._slot(hotkey)
        return [] if slot is None else self._committed(mechid, slot.uid)

    def _pooled(  # noqa: PLR0913, PLR0917 - a submission in full
        self,
        hotkey: str,
        mechid: int,
        values: Mapping[int, int],
        delay: int | None,
        valid_blocks: int,
        content: bytes | None = None,
    ) -> Pending:
        number = self.blocks.number()
        due = None if delay is None else number + delay
        pending = Pending(hotkey, mechid, values, due, number + valid_blocks, content)
        self._pool.append(pending)
        self._settle()
        return pending

    def _settle(self) -> None:
        """Do what the blocks since the last look hold: submissions in their order, and commits whose time has come."""
        number = self.blocks.number()
        ready = [one for one in self._pool if one.due is not None and one.due <= min(number, one.expires)]
        self._pool = [one for one in self._pool if one not in ready and one.expires > number]
        for pending in sorted(ready, key=lambda one: one.due or 0):
            block = pending.due or number
            if pending.content is None:
                pending.result = self._include(pending.hotkey, pending.mechid, pending.values, block)
            else:
                pending.result = self._commit(pending.hotkey, pending.content, block)
        epoch, wait = self.blocks.epoch(number), self.rules.reveal_epochs
        ripe = [row for row in self._commits if self.blocks.epoch(row.block) + wait <= epoch]
        for row in ripe:
            self._commits.remove(row)
            # A row that the runtime refuses at the reveal is gone, and no event says so.
            if not self._refused_row(self._slots[row.uid], row.mechid, dict(row.targets), number):
                self._reveal(row)
        if ripe:
            self._store()

    def _reveal(self, row: WeightRow) -> None:
        """Bring a commitment into force, unless a fault says otherwise."""
        if self.failing_reveals:
            self.failing_reveals -= 1
            return
        if self.altered_rows:
            self.altered_rows -= 1
            (first, _), *others = row.targets
            row = msgspec.structs.replace(row, targets=((first, 1), *others))
        self._weights[row.mechid, row.uid] = row

    def _include(self, hotkey: str, mechid: int, values: Mapping[int, int], block: int) -> WeightsResult:
        """Set or commit the neuron's weights in `block`, or refuse them with the pallet's name for the reason."""
        slot, extrinsic = self._slot(hotkey), self._extrinsic(block)
        if self.rules.reveal_epochs:
            error = self._refused_commit(slot, mechid, block)
        else:
            error = self._refused_row(slot, mechid, values, block)
        if slot is None or error:
            return _refused(error, block, extrinsic)
        row = WeightRow(mechid, slot.uid, block, tuple(values.items()))
        if self.rules.reveal_epochs:
            self._commits.append(row)
        else:
            self._reveal(row)
        self._put(msgspec.structs.replace(slot, last_update=block if mechid == 0 else slot.last_update))
        return WeightsResult(True, "", block, extrinsic)

    def _refused_commit(self, slot: Slot | None, mechid: int, block: int) -> str:
        """Return the pallet's name for the reason to refuse a commitment, in its order; empty if there is none."""
        rules, epoch = self.rules, self.blocks.epoch
        if slot is None:
            return "HotKeyNotRegisteredInSubNet"
        mine = [one for one in self._committed(mechid, slot.uid) if epoch(one) == epoch(block)]
        checks = (
            (not 0 <= mechid < rules.mechanisms, "MechanismDoesNotExist"),
            (not self._may_weigh(slot), "NotEnoughStakeToSetWeights"),
            (self._wait(mechid, slot, block) > 0, "CommittingWeightsTooFast"),
            (len(mine) >= MAX_COMMITS, "TooManyUnrevealedCommits"),
        )
        return next((name for refused, name in checks if refused), "")

    def _refused_row(self, slot: Slot | None, mechid: int, values: Mapping[int, int], block: int) -> str:
        """Return the pallet's name for the reason to refuse a row, in its order; empty if there is none."""
        rules = self.rules
        if slot is None:
            return "HotKeyNotRegisteredInSubNet"
        own = set(values) == {slot.uid}
        owner = slot.hotkey == rules.owner_hotkey
        checks = (
            (not 0 <= mechid < rules.mechanisms, "MechanismDoesNotExist"),
            (not self._may_weigh(slot), "NotEnoughStakeToSetWeights"),
            (rules.version_key > VERSION_KEY, "IncorrectWeightVersionKey"),
            (not rules.reveal_epochs and self._wait(mechid, slot, block) > 0, "SettingWeightsTooFast"),
            (not (slot.validator_permit or own or owner), "NeuronNoValidatorPermit"),
            (not values.keys() <= self._slots.keys(), "UidVecContainInvalidOne"),
            (not own and len(values) < min(rules.min_allowed_weights, len(self._slots)), "WeightVecLengthIsLow"),
        )
        return next((name for refused, name in checks if refused), "")

    def _may_weigh(self, slot: Slot) -> bool:
        return slot.hotkey == self.rules.owner_hotkey or slot.stake_tao >= self.rules.min_stake_tao

    def _wait(self, mechid: int, slot: Slot, block: int) -> int:
        return self._last_update(mechid, slot) + self.rules.weights_rate_limit - block

    def _extrinsic(self, block: int) -> str:
        """Return the id of one more extrinsic in a block."""
        if self._newest_extrinsic[0] != block:
            self._newest_extrinsic = block, -1
        self._newest_extrinsic = block, self._newest_extrinsic[1] + 1
        return f"{block}-{self._newest_extrinsic[1]:04d}"

    def _commit(self, hotkey: str, content: bytes, block: int) -> WeightsResult:
        """Take a commitment in `block`, or refuse it with the pallet's name for the reason."""
        extrinsic = self._extrinsic(block)
        if self._slot(hotkey) is None:
            return _refused("AccountNotAllowedCommit", block, extrinsic)
        last, epoch = self._commitments.get(hotkey), self.blocks.epoch
        before = last.space if last is not None and epoch(last.block) == epoch(block) else 0
        space = before + max(_LEAST, len(content))
        if space > self.rules.commitment_space:
            return _refused("SpaceLimitExceeded", block, extrinsic)
        self._commitments[hotkey] = CommitmentRow(hotkey, block, content.hex(), space)
        self._store()
        return WeightsResult(True, "", block, extrinsic)

    def _committed(self, mechid: int, uid: int) -> list[int]:
        return [row.block for row in self._commits if (row.mechid, row.uid) == (mechid, uid)]

    def _last_update(self, mechid: int, slot: Slot) -> int:
        if mechid == 0:
            return slot.last_update
        row = self._weights.get((mechid, slot.uid))
        return max(slot.registered_at, row.block if row else 0, *self._committed(mechid, slot.uid))

    def _meant(self, row: WeightRow, uid: int) -> bool:
        return uid in self._slots and row.block > self._slots[uid].registered_at

    def _rows(self) -> tuple[WeightRow, ...]:
        return tuple(self._weights[key] for key in sorted(self._weights))

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
        """Free a slot, and forget what its neuron has set and committed."""
        self._slots.pop(uid, None)
        self._weights = {key: row for key, row in self._weights.items() if key[1] != uid}
        self._commits = [row for row in self._commits if row.uid != uid]

    def _store(self) -> None:
        if self._file is not None:
            save_state(self._document(), self._file)

    def _document(self) -> SubnetState:
        neurons = tuple(self._slots[uid] for uid in sorted(self._slots))
        commitments = tuple(self._commitments[hotkey] for hotkey in sorted(self._commitments))
        return SubnetState(STATE_VERSION, self.rules, neurons, self._rows(), tuple(self._commits), commitments)


def _refused(name: str, block: int, extrinsic: str) -> WeightsResult:
    """Return a refusal by the runtime, in the form of a real chain's: `code (Name): text`."""
    code = _CODES.get(name, "invalid_argument")
    return WeightsResult(False, f"{code} ({name}): simulated", block, extrinsic)


def _checked(slot: Slot) -> Slot:
    try:
        check_slot(slot)
    except SchemaError as error:
        raise ChainError(error.detail) from None
    return slot
