"""Blocks, weights and commitments of a simulated subnet."""

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from validator.chain.base import VERSION_KEY, Commitment, Head, WeightsResult
from validator.chain.state import CommitmentRow, Slot, SubnetRules, WeightRow
from validator.sources import Clock

_MICROSECOND: Final = timedelta(microseconds=1)


class Blocks:
    """The blocks of a simulated subnet.

    Args:
        clock: time.
        seed: hashes follow from it.
        genesis: time of block 0, seconds since the Unix epoch.
        block_time_s: seconds between blocks.
        tempo: blocks in an epoch, less one.

    Attributes:
        identity: hex; another one for blocks that began at another time, whatever their seed.
    """

    def __init__(self, clock: Clock, *, seed: str, genesis: int, block_time_s: float, tempo: int) -> None:
        self._clock = clock
        self._seed = seed
        self._genesis = genesis
        self._block_us = round(block_time_s * 1_000_000)
        self._epoch_length = tempo + 1
        self._newest = 0
        self.identity = hashlib.sha256(f"{seed}|{genesis}|genesis".encode()).hexdigest()

    def number(self) -> int:
        """Return the newest block's number; it never falls, even when the clock is set back."""
        self._newest = max(self._newest, self._elapsed_us() // self._block_us)
        return self._newest

    def head(self) -> Head:
        """Return the newest block; epochs are counted from block 0 (D-22)."""
        number = self.number()
        epoch = number // self._epoch_length
        time = self._genesis + number * self._block_us // 1_000_000
        start = epoch * self._epoch_length
        return Head(number, self.hash(number), time, epoch, start + self._epoch_length - 1, start)

    def hash(self, number: int) -> str:
        """Return the hash of any block, hex: sha256 of `seed|number`."""
        return hashlib.sha256(f"{self._seed}|{number}".encode()).hexdigest()

    async def wait_for(self, number: int) -> None:
        """Return once block `number` is there."""
        while self.number() < number:
            # Whole microseconds, at least one: a rest that rounds to nothing would never let the clock move.
            await self._clock.sleep(max(1, number * self._block_us - self._elapsed_us()) / 1_000_000)

    def _elapsed_us(self) -> int:
        return (self._clock.now() - datetime.fromtimestamp(self._genesis, UTC)) // _MICROSECOND


MAX_COMMITS: Final = 10  # of one neuron, not revealed


@dataclass(slots=True, eq=False)
class Pending:
    """A signed submission that no block holds yet.

    Attributes:
        hotkey: who signed it.
        mechid: the mechanism.
        values: target uid to u16.
        due: the block that will hold it; None if the pool has lost it.
        expires: the last block that may hold it.
        content: of a commitment, which has neither mechanism nor values; None for weights.
        result: what came of it, once a block holds it.
    """

    hotkey: str
    mechid: int
    values: Mapping[int, int]
    due: int | None
    expires: int
    content: bytes | None = None
    result: WeightsResult | None = None


class Ledger:
    """The weights of all neurons.

    Args:
        rows: in force.
        commits: not revealed yet, oldest first.
        rules: the subnet's.
    """

    def __init__(self, rows: Iterable[WeightRow], commits: Iterable[WeightRow], rules: SubnetRules) -> None:
        self._rules = rules
        self._rows = {(row.mechid, row.uid): row for row in rows}
        self._commits = list(commits)
        self._pool: list[Pending] = []

    @property
    def rows(self) -> tuple[WeightRow, ...]:
        """What is in force, by mechanism and uid."""
        return tuple(self._rows[key] for key in sorted(self._rows))

    @property
    def commits(self) -> tuple[WeightRow, ...]:
        """What is committed and not revealed, oldest first."""
        return tuple(self._commits)

    def wait(self, pending: Pending) -> None:
        """Put a submission into the pool."""
        self._pool.append(pending)

    def due(self, number: int) -> list[Pending]:
        """Take out of the pool what blocks up to `number` hold, in their order; what has expired goes, too."""
        ready = [p for p in self._pool if p.due is not None and p.due <= min(number, p.expires)]
        self._pool = [p for p in self._pool if p not in ready and p.expires > number]
        return sorted(ready, key=lambda p: p.due or 0)

    def include(
        self, slot: Slot, mechid: int, values: Mapping[int, int], block: int, uids: Collection[int]
    ) -> WeightsResult:
        """Set or commit the neuron's weights in `block`, or refuse them with the pallet's name for the reason."""
        refusal = self._refusal(slot, mechid, values, block, uids)
        if refusal:
            return WeightsResult(False, refusal, None, None)
        row = WeightRow(mechid, slot.uid, block, tuple(values.items()))
        index = sum(other.block == block for other in (*self._rows.values(), *self._commits))
        if self._rules.reveal_epochs:
            self._commits.append(row)
        else:
            self._rows[mechid, slot.uid] = row
        return WeightsResult(True, "", block, f"{block}-{index:04d}")

    def reveal(self, number: int) -> bool:
        """Bring into force the commits whose time has come by block `number`; return whether there were any."""
        length, wait = self._rules.tempo + 1, self._rules.reveal_epochs
        ripe = [row for row in self._commits if row.block // length + wait <= number // length]
        for row in ripe:
            self._commits.remove(row)
            self._rows[row.mechid, row.uid] = row
        return bool(ripe)

    def clear(self, uid: int) -> None:
        """Forget what the neuron at `uid` has set and committed."""
        self._rows = {key: row for key, row in self._rows.items() if key[1] != uid}
        self._commits = [row for row in self._commits if row.uid != uid]

    def row(self, mechid: int, uid: int) -> WeightRow | None:
        """Return what the neuron has in force."""
        return self._rows.get((mechid, uid))

    def last_update(self, mechid: int, slot: Slot) -> int:
        """Return the block at which the neuron last set or committed weights, or registered."""
        if mechid == 0:
            return slot.last_update
        row = self.row(mechid, slot.uid)
        return max(slot.registered_at, row.block if row else 0, *self.committed(mechid, slot.uid))

    def _refusal(self, slot: Slot, mechid: int, values: Mapping[int, int], block: int, uids: Collection[int]) -> str:
        rules = self._rules
        wait = self.last_update(mechid, slot) + rules.weights_rate_limit - block
        checks = (
            (not 0 <= mechid < rules.mechanisms, "MechanismDoesNotExist"),
            (rules.version_key > VERSION_KEY, "IncorrectWeightVersionKey"),
            (len(self.committed(mechid, slot.uid)) >= MAX_COMMITS, "TooManyUnrevealedCommits"),
            (slot.stake_tao < rules.min_stake_tao, "NotEnoughStakeToSetWeights"),
            (not slot.validator_permit, "NeuronNoValidatorPermit"),
            (wait > 0, f"SettingWeightsTooFast: {wait} blocks to wait"),
            (not values, "WeightVecLengthIsLow"),
            (not all(uid in uids for uid in values), "UidVecContainInvalidOne"),
        )
        return next((name for refused, name in checks if refused), "")

    def committed(self, mechid: int, uid: int) -> list[int]:
        """Return the blocks of the neuron's commits, ascending."""
        return [row.block for row in self._commits if (row.mechid, row.uid) == (mechid, uid)]


_LEAST: Final = 100  # bytes of its space that a commitment takes, however short it is


class Commitments:
    """The newest commitment of each hotkey, and how much of an epoch's space it has taken.

    Args:
        rows: what there is.
        rules: the subnet's.
    """

    def __init__(self, rows: Iterable[CommitmentRow], rules: SubnetRules) -> None:
        self._rules = rules
        self._rows = {row.hotkey: row for row in rows}

    @property
    def rows(self) -> tuple[CommitmentRow, ...]:
        """All of them, by hotkey."""
        return tuple(self._rows[hotkey] for hotkey in sorted(self._rows))

    def of(self, hotkey: str) -> Commitment | None:
        """Return what a hotkey has committed to, None if nothing."""
        row = self._rows.get(hotkey)
        return None if row is None else Commitment(row.block, bytes.fromhex(row.content))

    def include(self, hotkey: str, content: bytes, block: int, *, registered: bool) -> WeightsResult:
        """Take a commitment in `block`, or refuse it with the pallet's name for the reason."""
        if not registered:
            return WeightsResult(False, "AccountNotAllowedCommit", None, None)
        last, length = self._rows.get(hotkey), self._rules.tempo + 1
        before = last.space if last is not None and last.block // length == block // length else 0
        space = before + max(_LEAST, len(content))
        if space > self._rules.commitment_space:
            return WeightsResult(False, "SpaceLimitExceeded", None, None)
        self._rows[hotkey] = CommitmentRow(hotkey, block, content.hex(), space)
        return WeightsResult(True, "", block, f"{block}-9000")
