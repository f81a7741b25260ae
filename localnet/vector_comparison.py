"""Comparison of several validators' rows on the simulated chain, which it only reads, and the pay that follows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from statistics import mean

from localnet.chain.subnet import SimulatedSubnet
from sssa.protocol.round import MetagraphSnapshot

_MECHID = 0


@dataclass(frozen=True, slots=True)
class Row:
    """One validator's weights as the chain stores them.

    Attributes:
        hotkey: the validator's.
        stake_tao: behind them.
        shares: by the hotkey of who gets them; they sum to 1, or there are none.
    """

    hotkey: str
    stake_tao: float
    shares: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Payout:
    """The rows of all validators, and who is paid what by all of them.

    Attributes:
        rows: in the order in which the validators registered.
        aggregate: by hotkey, shares that sum to 1: the rows clipped by their stake-weighted median.
    """

    rows: Sequence[Row]
    aggregate: Mapping[str, float]

    @property
    def spread(self) -> float | None:
        """Share of the weights that two validators place differently, the mean over all pairs; None without a pair."""
        return spread_of([row.shares for row in self.rows])

    @property
    def distance(self) -> float | None:
        """Share of the weights that one validator places differently from all together, the mean over validators."""
        rows = [row.shares for row in self.rows if row.shares]
        return mean(moved(row, self.aggregate) for row in rows) if rows and self.aggregate else None


def payout(subnet: SimulatedSubnet, validators: Sequence[str]) -> Payout:
    """Return the rows of these validators, and what the subnet makes of all rows, as of the newest block."""
    snapshot = subnet.snapshot()
    hotkeys = {neuron.uid: neuron.hotkey for neuron in snapshot.neurons}
    rows = tuple(_row(subnet, snapshot, hotkey) for hotkey in validators)
    return Payout(rows, {hotkeys[uid]: share for uid, share in subnet.incentives().items()})


def spread_of(vectors: Sequence[Mapping[str, float]]) -> float | None:
    """Return what part two vectors place differently, the mean over all pairs of those that place anything."""
    placed = [vector for vector in vectors if vector]
    pairs = [(a, b) for i, a in enumerate(placed) for b in placed[:i]]
    return mean(moved(a, b) for a, b in pairs) if pairs else None


def moved(a: Mapping[str, float], b: Mapping[str, float]) -> float:
    """Return what part of a whole would have to move to make one vector of shares the other: 0 to 1."""
    return fsum(abs(a.get(key, 0.0) - b.get(key, 0.0)) for key in {*a, *b}) / 2


def _row(subnet: SimulatedSubnet, snapshot: MetagraphSnapshot, validator: str) -> Row:
    own = next(neuron for neuron in snapshot.neurons if neuron.hotkey == validator)
    hotkeys = {neuron.uid: neuron.hotkey for neuron in snapshot.neurons}
    stored = subnet.weights(_MECHID, own.uid)
    total = sum(stored.values())
    return Row(validator, own.stake_tao, {hotkeys[uid]: value / total for uid, value in stored.items() if total})
