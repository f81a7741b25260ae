"""The result of a simulated network: `play` runs one in memory and returns pay, work, and flags. Pure."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from msgspec import Struct

from laboratory.network import Network, Played
from laboratory.population import Player, Population
from sssa.state.mechanism_state import State


class MinerResult(Struct, frozen=True):
    """One miner.

    Attributes:
        name, group, behaviour, level: who it is.
        dispatches: that it got.
        work: analyses that it made.
        pay: part of each vector.
        named_share: part of all faults that it met and named, planted or not, until each vector.
        flags: collusion flags at the end.
    """

    name: str
    group: str
    behaviour: str
    level: float
    dispatches: int
    work: int
    pay: tuple[float, ...]
    named_share: tuple[float, ...]
    flags: int


class Result(Struct, frozen=True):
    """A network that was played; with several validators pay is the mean, and the other numbers are sums.

    Attributes:
        version, seed: of it.
        rounds: after which there was a vector.
        miners: in the order of the population.
        spread: mean over miners of the standard deviation of pay between validators, as part of the mean pay.
    """

    version: str
    seed: int
    rounds: tuple[int, ...]
    miners: tuple[MinerResult, ...]
    spread: float | None

    def of(self, *groups: str) -> list[MinerResult]:
        """Return the miners of these groups; without any, the honest ones."""
        return [one for one in self.miners if one.group in groups or (not groups and one.behaviour == "honest")]

    def at(self, round_number: int) -> int:
        """Return the place of the newest vector that is not after a round."""
        return max((place for place, one in enumerate(self.rounds) if one <= round_number), default=0)


def play(population: Population, progress: Callable[[], None] = lambda: None) -> Result:
    """Play a population at all of its validators; `progress` is called after every round of each."""
    observed = [_Observed(Network(population, str(number))) for number in range(population.validators)]
    for one in observed:
        for _ in range(population.rounds):
            one.round()
            progress()
    names = [player.name for player in population.members]
    pay = {name: _means([one.pay[name] for one in observed]) for name in names}
    first = observed[0].network.state
    flags = {name: _flags(first, observed[0].network, name) for name in names}
    return Result(
        version=population.version,
        seed=population.seed,
        rounds=tuple(observed[0].rounds),
        miners=tuple(_miner(player, observed, pay[player.name], flags[player.name]) for player in population.members),
        spread=_spread(observed, names) if len(observed) > 1 else None,
    )


def _miner(player: Player, observed: "Sequence[_Observed]", pay: Sequence[float], flags: int) -> MinerResult:
    group, name = player.group, player.name
    dispatches, work = sum(one.dispatches[name] for one in observed), sum(one.work[name] for one in observed)
    shares = tuple(observed[0].named_share[name])
    return MinerResult(name, group.name, group.behaviour, player.level, dispatches, work, tuple(pay), shares, flags)


def _flags(state: State, network: Network, name: str) -> int:
    return sum(len(state.miner(hotkey).flags) for hotkey, whose in network.names.items() if whose == name)


class _Observed:
    """A network of one validator, and what is counted of it."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.rounds: list[int] = []
        self.pay: dict[str, list[float]] = {player.name: [] for player in network.population.members}
        self.dispatches: Counter[str] = Counter()
        self.work: Counter[str] = Counter()
        self.named_share: dict[str, list[float]] = {name: [] for name in self.pay}
        self._faults: Counter[str] = Counter()
        self._named: Counter[str] = Counter()

    def round(self) -> None:
        """Play a round, and pay where a vector is due."""
        network = self.network
        self._count(network.play())
        if network.index % network.population.world.epoch_rounds and network.index != network.population.rounds:
            return
        weights = network.pay().weights
        paid: defaultdict[str, float] = defaultdict(float)
        for hotkey, weight in weights.items():
            paid[network.names[hotkey]] += weight
        self.rounds.append(network.index)
        for name, values in self.pay.items():
            values.append(paid[name])
            self.named_share[name].append(self._named[name] / max(1, self._faults[name]))

    def _count(self, played: Played) -> None:
        made: set[tuple[str, str]] = set()
        for (task, hotkey), deed in played.deeds.items():
            name = self.network.names[hotkey]
            self.dispatches[name] += 1
            self._faults[name] += len(played.latent[task].kinds)
            self._named[name] += 0 if deed.answer is None else deed.answer.hits
            if deed.analyst is not None and (task, deed.analyst) not in made:
                made.add((task, deed.analyst))
                self.work[name] += 1


def _means(rows: Sequence[Sequence[float]]) -> list[float]:
    return [math.fsum(values) / len(values) for values in zip(*rows, strict=True)]


def _spread(observed: Sequence[_Observed], names: Iterable[str]) -> float:
    """Return how far the last vectors of the validators are apart."""
    ratios = []
    for name in names:
        values = [one.pay[name][-1] for one in observed]
        mean = math.fsum(values) / len(values)
        if mean:
            ratios.append(math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1)) / mean)
    return math.fsum(ratios) / len(ratios) if ratios else 0.0


def ranks(values: Sequence[float]) -> list[float]:
    """Return ranks from 0, those of equals averaged."""
    order = sorted(range(len(values)), key=values.__getitem__)
    places, start = [0.0] * len(values), 0
    while start < len(order):
        end = start
        while end < len(order) and values[order[end]] == values[order[start]]:
            end += 1
        for place in order[start:end]:
            places[place] = (start + end - 1) / 2
        start = end
    return places


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float:
    """Return Spearman's correlation; 0 where one of the two is constant."""
    first, second = ranks(one), ranks(other)
    mean = (len(first) - 1) / 2
    shared = math.fsum((a - mean) * (b - mean) for a, b in zip(first, second, strict=True))
    both = math.fsum((a - mean) ** 2 for a in first) * math.fsum((b - mean) ** 2 for b in second)
    return shared / math.sqrt(both) if both else 0.0


class Estimate(Struct, frozen=True):
    """A mean with half of its 95% interval over seeds."""

    mean: float
    half: float
    number: int

    def __str__(self) -> str:
        """Return `mean ± half`."""
        return f"{self.mean:.3g} ± {self.half:.2g}" if self.number > 1 else f"{self.mean:.3g}"


_T: Final = (0.0, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13)


def estimate(values: Sequence[float]) -> Estimate:
    """Return the mean of values of different seeds, by Student's distribution."""
    mean = math.fsum(values) / len(values)
    free = len(values) - 1
    if not free:
        return Estimate(mean, 0.0, 1)
    deviation = math.sqrt(math.fsum((one - mean) ** 2 for one in values) / free)
    return Estimate(mean, (_T[free] if free < len(_T) else 2.0) * deviation / math.sqrt(len(values)), len(values))


def median(values: Iterable[float]) -> float:
    """Return the middle value, of an even number the lower one; 0 of none."""
    ordered = sorted(values)
    return ordered[(len(ordered) - 1) // 2] if ordered else 0.0
