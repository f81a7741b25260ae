"""Analysis of exported real rounds: pay under another version, and a population fitted to them. Pure."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from statistics import fmean
from typing import Final, NamedTuple

from msgspec import structs

from laboratory.population import Group, Population, World
from sssa.protocol.findings import match_faults
from sssa.protocol.results import RoundResults, Submission
from sssa.protocol.round import AssessmentTask, RoundInput, RoundPlan
from sssa.protocol.skill_types import KINDS
from sssa.protocol.sssa import Verdict
from sssa.protocol.workflow_run import WorkflowRun
from sssa.scoring import (
    FindingKeys,
    WeightPlan,
    measured_runs,
    score_round,
    standing_of,
    version,
    windows_of,
)
from sssa.state.inputs import freeze_miner
from sssa.state.mechanism_state import Declarations, Shared, State
from sssa.state.round_end import Ended, apply

_FEWEST: Final = 24  # faults that two miners must have met together
_ALIKE: Final = 0.8  # correlation of luck from which two are taken for one analysis
_LEAST, _MOST = 0.02, 0.98


class PastRound(NamedTuple):
    """A settled round as the log tells it, its truths shown."""

    frozen: RoundInput
    plan: RoundPlan
    results: RoundResults


class Rescored:
    """The same answers under another version: groups stay as they were, everything else is computed by the core.

    An operator's acts are left out: they clear flags of the version that raised them.
    """

    def __init__(self, name: str) -> None:
        self._version = version(name)
        self._state = State({}, Shared(since=0, sources={}))
        self._last: RoundInput | None = None

    def add(self, past: PastRound) -> None:
        """Score a round; rounds come in order."""
        rules, recorded = self._version.rules, past.frozen
        miners = tuple(
            freeze_miner(
                self._state,
                one.hotkey,
                recorded.index,
                history_rounds=rules.groups.history_rounds,
                samples=rules.collusion.window,
                skill_types=one.skill_types,
                max_concurrent=one.max_concurrent,
            )
            for one in recorded.miners
        )
        bare = structs.replace(recorded, scoring_version=self._version.name, miners=miners, acts=())
        frozen, plan = self._version.complete(self._state, bare), past.plan
        outcome = score_round(self._version, frozen, plan, past.results, FindingKeys())
        measured: dict[tuple[str, str], WorkflowRun] = {}
        for task in frozen.tasks:
            answers = [one for one in past.results.passed if one.task_id == task.task_id]
            group = next(one for one in plan.groups if one.task_id == task.task_id)
            if not isinstance(task, AssessmentTask):
                scored = self._version.score_group(frozen, task, group, past.results, FindingKeys())
                measured |= measured_runs(task, answers, scored)
        ended = Ended(frozen, plan, "settled", outcome, measured)
        self._state = apply(self._state, self._version.step(self._state, ended))
        self._last = frozen

    def vector(self) -> WeightPlan:
        """Return what the miners of the last round would be paid."""
        if self._last is None:
            return WeightPlan({}, {}, 1.0)
        here = [one.hotkey for one in self._last.snapshot.neurons if one.hotkey != self._last.validator_hotkey]
        windows = windows_of(self._version, self._state, here)
        declared = Declarations.since(self._state.shared, None)
        standing = standing_of(self._version, self._state, here, declared, self._last.index + 1)
        basis = self._version.pay_basis(self._state, self._last.snapshot.epoch, windows)
        return self._version.mechanism_weights(windows, KINDS, standing, basis)


class MinerEstimate(NamedTuple):
    """Observed history of a miner.

    Attributes:
        answers, failed: dispatches that passed, and that failed a gate.
        level: estimated skill; None without planted faults.
        alarms: findings that name no fault, per planted task.
        verdict: that it says always; None: it says several.
        speed: part of the time window that it takes, in the middle.
    """

    answers: int
    failed: int
    level: float | None
    alarms: float
    verdict: Verdict | None
    speed: float


class History:
    """Known faults that miners found, round by round.

    Attributes:
        hits: miner to (task, fault) to whether it named it.
        kinds: (task, fault) to the kind of fault.
    """

    def __init__(self) -> None:
        self.hits: defaultdict[str, dict[tuple[str, int], bool]] = defaultdict(dict)
        self.kinds: dict[tuple[str, int], str] = {}
        self._alarms: defaultdict[str, list[int]] = defaultdict(list)
        self._verdicts: defaultdict[str, Counter[Verdict]] = defaultdict(Counter)
        self._named: Counter[str] = Counter()
        self._parts: defaultdict[str, list[float]] = defaultdict(list)
        self._failed: Counter[str] = Counter()
        self.rounds = 0

    def add(self, past: PastRound) -> None:
        """Take a round in."""
        self.rounds += 1
        tasks = {one.task_id: one for one in past.frozen.tasks if isinstance(one, AssessmentTask)}
        self._failed.update(one.hotkey for one in past.results.rejections if one.task_id in tasks)
        for answer in past.results.passed:
            if not isinstance(answer, Submission):
                continue
            task, hotkey, analysis = tasks[answer.task_id], answer.hotkey, answer.sssa.analysis
            self._verdicts[hotkey][analysis.verdict] += 1
            self._named[hotkey] += len(analysis.findings)
            self._parts[hotkey].append(min(1.0, max(0.0, task.windows.of(answer.role).part(answer.seconds))))
            known = None if task.truth is None else task.truth.findings
            if not isinstance(known, tuple):
                continue
            reported = [one for one in analysis.findings if one.category != "canary_match"]
            matched = match_faults(known, reported)
            self._alarms[hotkey].append(len(matched.unplanted))
            for place, (fault, by) in enumerate(zip(known, matched.by, strict=True)):
                self.kinds[task.task_id, place] = fault.kind
                self.hits[hotkey][task.task_id, place] = by is not None

    def rates(self) -> dict[str, float]:
        """Return for each kind how often it was named."""
        hits: Counter[str] = Counter()
        met: Counter[str] = Counter()
        for of_miner in self.hits.values():
            for place, was_named in of_miner.items():
                met[self.kinds[place]] += 1
                hits[self.kinds[place]] += was_named
        return {kind: (hits[kind] + 1) / (met[kind] + 2) for kind in sorted(met)}

    def estimates(self) -> dict[str, MinerEstimate]:
        """Return what is known of every miner."""
        rates = self.rates()
        return {
            hotkey: MinerEstimate(
                answers=self._verdicts[hotkey].total(),
                failed=self._failed[hotkey],
                level=self._level(hotkey, rates),
                alarms=fmean(self._alarms[hotkey] or [0]),
                verdict=self._constant(hotkey),
                speed=sorted(self._parts[hotkey] or [0.2])[len(self._parts[hotkey]) // 2],
            )
            for hotkey in sorted({*self._verdicts, *self._failed})
        }

    def _constant(self, hotkey: str) -> Verdict | None:
        verdicts = self._verdicts[hotkey]
        return (
            next(iter(verdicts)) if len(verdicts) == 1 and verdicts.total() >= 10 and not self._named[hotkey] else None
        )

    def _level(self, hotkey: str, rates: Mapping[str, float]) -> float | None:
        """Return the chance of finding a fault of middling difficulty: the odds that explain what was found."""
        of_miner = self.hits[hotkey]
        if not of_miner:
            return None
        middle = _middle(rates)
        odds = [rates[self.kinds[place]] / (1 - rates[self.kinds[place]]) / middle for place in of_miner]
        target = min(_MOST, max(_LEAST, (sum(of_miner.values()) + 1) / (len(of_miner) + 2)))
        low, high = 1e-4, 1e4
        for _ in range(40):
            ability = math.sqrt(low * high)
            low, high = (
                (ability, high) if fmean(ability * o / (1 + ability * o) for o in odds) < target else (low, ability)
            )
        return min(_MOST, max(_LEAST, low / (1 + low)))

    def alike(self) -> dict[tuple[str, str], float]:
        """Return the correlation of the luck of every two miners that met enough faults together."""
        rates, levels = self.rates(), {hotkey: one.level for hotkey, one in self.estimates().items()}
        middle = _middle(rates)

        def luck(hotkey: str, place: tuple[str, int]) -> float:
            level = levels[hotkey] or 0.5
            odds = level / (1 - level) * rates[self.kinds[place]] / (1 - rates[self.kinds[place]]) / middle
            chance = min(_MOST, max(_LEAST, odds / (1 + odds)))
            return ((1.0 if self.hits[hotkey][place] else 0.0) - chance) / math.sqrt(chance * (1 - chance))

        alike = {}
        for one, other in combinations(sorted(self.hits), 2):
            shared = self.hits[one].keys() & self.hits[other].keys()
            if len(shared) >= _FEWEST:
                alike[one, other] = fmean(luck(one, place) * luck(other, place) for place in sorted(shared))
        return alike


def _middle(rates: Mapping[str, float]) -> float:
    """Return the odds of a fault of middling difficulty."""
    return math.exp(fmean(math.log(rate / (1 - rate)) for rate in rates.values())) if rates else 1.0


def population_of_history(history: History, name: str, rounds: int) -> Population:
    """Return a population like the miners of the rounds: each with its skill, those alike as sharers."""
    estimates, alike = history.estimates(), history.alike()
    together = _clusters(estimates, [pair for pair, value in alike.items() if value >= _ALIKE])
    rates = history.rates()
    logs = [math.log(rate / (1 - rate)) for rate in rates.values()] or [0.0]
    apart = [value for value in alike.values() if value < _ALIKE]
    groups = []
    for number, hotkeys in enumerate(together):
        of_group = [estimates[hotkey] for hotkey in hotkeys]
        first = of_group[0]
        known = [one.level for one in of_group if one.level is not None]
        tried = sum(one.answers + one.failed for one in of_group)
        groups.append(
            Group(
                name=f"miner-{number}",
                count=len(hotkeys),
                behaviour="sharer" if len(hotkeys) > 1 else "constant" if first.verdict else "honest",
                skill=round(fmean(known), 4) if known else 0.5,
                tool="common",
                speed=round(first.speed, 4),
                fails=round(sum(one.failed for one in of_group) / tried, 4) if tried else 0.0,
                verdict=first.verdict or "ALLOW",
            )
        )
    deviation = math.sqrt(fmean((one - fmean(logs)) ** 2 for one in logs))
    world = World(
        kinds=min(500, max(12, len(rates))),
        hardness=round(min(3.0, deviation), 4),
        tool_share=round(min(1.0, max(0.0, fmean(apart))), 4) if apart else 0.0,
        blind=0.0,
        alarms=round(min(20.0, fmean(one.alarms for one in estimates.values()) * 2), 4) if estimates else 2.0,
    )
    return Population(miners=tuple(groups), world=world, version=name, rounds=rounds)  # type: ignore[arg-type]


def _clusters(hotkeys: Iterable[str], pairs: Sequence[tuple[str, str]]) -> list[list[str]]:
    """Return the miners in groups that the pairs join, in order."""
    group = {hotkey: hotkey for hotkey in hotkeys}
    for one, other in pairs:
        old, new = sorted((group[one], group[other]), reverse=True)
        group = {hotkey: new if name == old else name for hotkey, name in group.items()}
    return [[hotkey for hotkey in group if group[hotkey] == name] for name in dict.fromkeys(group.values())]
