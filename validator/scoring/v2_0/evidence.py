"""Evidence that two miners share one analysis, from the planted faults that both found and missed (SPEC 17, D-39)."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from operator import mul
from typing import NamedTuple

from validator.protocol.tallies import NO_RECORD, EvidenceRow, Record, pair_of
from validator.scoring.v2_0.rules import SEARCH, EvidenceRules, Ruled20
from validator.scoring.values import PairValues
from validator.state.tallies import PairEvidence
from validator.state.values import NO_EVIDENCE

Kinds = Mapping[str, tuple[int, int]]
"""Kind of fault to how often it was found, and how often it could have been."""


class PlantedAnswers(NamedTuple):
    """A planted task with its valid answers.

    Attributes:
        kinds: of its faults, in the order of the truth.
        answers: (hotkey, for each fault whether it was found), in group order.
    """

    task_id: str
    kinds: tuple[str, ...]
    answers: tuple[tuple[str, tuple[bool, ...]], ...]


class Evidence(NamedTuple):
    """The evidence of one round.

    Attributes:
        rate: mean rate of being found, over the frozen kinds.
        slope: in force.
        slopes: slope to its number after the round.
        abilities: at the slope in force, of every valid member; empty where no kind counts.
        rows: one for each step, in order.
        kinds: after the round.
    """

    rate: float
    slope: int
    slopes: dict[str, float]
    abilities: dict[str, float]
    rows: tuple[EvidenceRow, ...]
    kinds: dict[str, tuple[int, int]]


def cut(x: float, low: float, high: float) -> float:
    """Return `x` within the bounds."""
    return min(high, max(low, x))


def weigh_round(  # noqa: PLR0913, PLR0917 - what was frozen, and the answers
    version: Ruled20,
    slopes: Mapping[str, float],
    kinds: Kinds,
    records: Mapping[str, Record],
    pairs: PairValues,
    tasks: Sequence[PlantedAnswers],
) -> Evidence:
    """Return the evidence of a round.

    Args:
        version: the round's.
        slopes: frozen; one that is absent is 0.
        kinds: frozen.
        records: frozen; one that is absent is empty.
        pairs: before the round; a pair that is absent has the value 1.
        tasks: the planted ones, in plan order.
    """
    rules = version.rules.evidence
    rate = mean_rate(kinds)
    frozen = tuple(kinds.items())
    curves = {slope: _curve(rules, slope, frozen, rate) for slope in rules.slopes}
    hotkeys = dict.fromkeys(hotkey for task in tasks for hotkey, _ in task.answers)
    abilities = {
        slope: {hotkey: curve.ability(records.get(hotkey, NO_RECORD)) for hotkey in hotkeys} if curve.odds else {}
        for slope, curve in curves.items()
    }
    slope = slope_in_force(rules, slopes)
    return Evidence(
        rate=rate,
        slope=slope,
        slopes={f"{s}": slopes.get(f"{s}", 0.0) + _misses(curves[s], abilities[s], tasks) for s in rules.slopes},
        abilities=abilities[slope],
        rows=_rows(rules, curves[slope], abilities[slope], pairs, tasks),
        kinds=_kinds_after(rules, kinds, tasks),
    )


def mean_rate(kinds: Kinds) -> float:
    """Return P: (Σ found + 1)/(Σ answers + 2)."""
    return (sum(found for found, _ in kinds.values()) + 1) / (sum(answers for _, answers in kinds.values()) + 2)


def slope_in_force(rules: EvidenceRules, slopes: Mapping[str, float]) -> int:
    """Return the slope with the smallest number; of equals the smaller slope."""
    return min(rules.slopes, key=lambda slope: (slopes.get(f"{slope}", 0.0), slope))


def chances_of(version: Ruled20, slopes: Mapping[str, float], kinds: Kinds, record: Record) -> dict[str, float]:
    """Return a miner's chances of finding each kind that counts, at the slope in force, from frozen values."""
    rules = version.rules.evidence
    curve = _curve(rules, slope_in_force(rules, slopes), tuple(kinds.items()), mean_rate(kinds))
    return {kind: curve.chance(curve.ability(record), kind) for kind in curve.odds}


class Curve:
    """Chances of finding each kind of fault by ability, at one slope.

    Attributes:
        odds: of every kind that counts.
    """

    def __init__(
        self, rules: EvidenceRules, slope: int, kinds: Iterable[tuple[str, tuple[int, int]]], rate: float
    ) -> None:
        self._rules, self._slope, self._rate = rules, slope, rate
        self._abilities: dict[tuple[int, int], float] = {}
        self._chances: dict[tuple[float, str], float] = {}
        self.odds: dict[str, float] = {}
        self._answers: list[int] = []
        for kind, (found, answers) in kinds:
            if answers >= rules.counted_from:
                of_kind = (found + rules.prior * rate) / (answers + rules.prior)
                self.odds[kind] = of_kind / (1 - of_kind)
                self._answers.append(answers)
        self._all = sum(self._answers)

    def ability(self, record: Record) -> float:
        """Return the factor by which a miner's odds differ from everybody's. Some kind must count."""
        told = record.found, record.faults
        if told not in self._abilities:
            self._abilities[told] = self._ability(record)
        return self._abilities[told]

    def _ability(self, record: Record) -> float:
        rules = self._rules
        target = cut((record.found + rules.prior * self._rate) / (record.faults + rules.prior), *rules.target)
        low, high = rules.ability
        below, above = self._bracket(target)
        for _ in range(rules.halvings):
            middle = math.sqrt(low * high)
            if middle <= below or (middle < above and self._mean(middle) < target):
                low = middle
            else:
                high = middle
        return math.sqrt(low * high)

    def _bracket(self, target: float) -> tuple[float, float]:
        """Return abilities with a mean clearly below and clearly above the target: halving looks only between them."""
        ability = target / (1 - target) * (1 - self._rate) / self._rate  # right if all kinds were alike, at slope 1
        for _ in range(SEARCH.newton_steps):
            parts = [y / (1 + y) for y in self._powers([ability * odds for odds in self.odds.values()])]
            mean = sum(map(mul, self._answers, parts)) / self._all
            rise = self._slope * (mean - sum(map(mul, self._answers, map(mul, parts, parts))) / self._all)
            step = (target - mean) / max(rise, SEARCH.least_rise)
            ability *= 1 + step if step > 0 else 1 / (1 - step)
            if abs(step) < SEARCH.settled:
                break
        below, above = ability * (1 - SEARCH.near), ability * (1 + SEARCH.near)
        return (
            below if self._mean(below) < target - SEARCH.clear else 0.0,
            above if self._mean(above) > target + SEARCH.clear else math.inf,
        )

    def chance(self, ability: float, kind: str) -> float:
        """Return the chance of finding a kind that counts."""
        told = ability, kind
        if told not in self._chances:
            (y,) = self._powers([ability * self.odds[kind]])
            self._chances[told] = cut(y / (1 + y), *self._rules.chance)
        return self._chances[told]

    def _mean(self, ability: float) -> float:
        powers = self._powers([ability * odds for odds in self.odds.values()])
        chances = [answers * (y / (1 + y)) for y, answers in zip(powers, self._answers, strict=True)]
        return math.fsum(chances) / self._all

    def _powers(self, values: list[float]) -> list[float]:
        for _ in range(self._slope.bit_length() - 1):  # 1, 2, 4: the power by squares
            values = [y * y for y in values]
        return values


@lru_cache(maxsize=6)  # a step asks for those of the round's score
def _curve(rules: EvidenceRules, slope: int, kinds: tuple[tuple[str, tuple[int, int]], ...], rate: float) -> Curve:
    return Curve(rules, slope, kinds, rate)


def _misses(curve: Curve, abilities: Mapping[str, float], tasks: Sequence[PlantedAnswers]) -> float:
    """Return the sum of the squared errors of the chances."""
    errors = []
    for task in tasks:
        for hotkey, found in task.answers:
            for kind, x in zip(task.kinds, found, strict=True):
                if kind in curve.odds:
                    error = (1.0 if x else 0.0) - curve.chance(abilities[hotkey], kind)
                    errors.append(error * error)
    return math.fsum(errors)


def _rows(
    rules: EvidenceRules,
    curve: Curve,
    abilities: Mapping[str, float],
    pairs: PairValues,
    tasks: Sequence[PlantedAnswers],
) -> tuple[EvidenceRow, ...]:
    rows, values = [], dict(pairs)
    for task in tasks:
        kinds = [kind for kind in task.kinds if kind in curve.odds]
        if not kinds:
            continue
        told = [(hotkey, _telling(task, found, curve.odds)) for hotkey, found in task.answers]
        for (one, found), (other, others) in combinations(told, 2):
            pair = pair_of(one, other)
            faults = [
                (curve.chance(abilities[one], kind), curve.chance(abilities[other], kind), x, y)
                for kind, x, y in zip(kinds, found, others, strict=True)
            ]
            ratio = ratio_of(rules, faults)
            before = values.get(pair, NO_EVIDENCE)
            values[pair] = step_of(rules, before, ratio)
            after = values[pair]
            rows.append(EvidenceRow(task.task_id, pair, ratio, before.value, after.value, after.proven))
    return tuple(rows)


def _telling(task: PlantedAnswers, found: Sequence[bool], counted: Collection[str]) -> list[bool]:
    return [x for kind, x in zip(task.kinds, found, strict=True) if kind in counted]


def ratio_of(rules: EvidenceRules, faults: Sequence[tuple[float, float, bool, bool]]) -> float:
    """Return R: the likelihood of one analysis against two, from (chance, chance, found, found) of each fault."""
    ratio = 1.0
    low, high = rules.telling
    for p, q, x, y in faults:
        mean = (p + q) / 2
        if not low <= mean <= high:
            continue
        apart = (p if x else 1 - p) * (q if y else 1 - q)
        shared = mean if x and y else 0.0 if x or y else 1 - mean
        ratio *= (rules.shared * shared + (1 - rules.shared) * apart) / (
            (1 - rules.apart) * apart + rules.apart * shared
        )
    return cut(ratio, *rules.ratio)


def step_of(rules: EvidenceRules, before: PairEvidence, ratio: float) -> PairEvidence:
    """Return the value of a pair after a bet of a part of it at these odds."""
    value = cut(before.value * (1 - rules.stake + rules.stake * ratio), *rules.value)
    return PairEvidence(value, value >= rules.proven_from or (before.proven and value >= rules.proven_until))


def _kinds_after(rules: EvidenceRules, kinds: Kinds, tasks: Sequence[PlantedAnswers]) -> dict[str, tuple[int, int]]:
    after = dict(kinds)
    for task in tasks:
        for _, found in task.answers:
            for kind, x in zip(task.kinds, found, strict=True):
                hits, answers = after.get(kind, (0, 0))
                after[kind] = (hits + x, answers + 1)
    return {
        kind: (hits // 2, answers // 2) if answers > rules.halved_above else (hits, answers)
        for kind, (hits, answers) in after.items()
    }
