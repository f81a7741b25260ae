"""Weights of a simulated subnet: what waits for a block, what is committed, what is in force."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from validator.chain.base import VERSION_KEY, WeightsResult
from validator.chain.state import Slot, SubnetRules, WeightRow

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
