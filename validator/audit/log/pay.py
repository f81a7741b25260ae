"""What decides whether a window pays, as the rounds of a log leave it (SPEC 16, D-23)."""

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from validator.audit.log.around import Around
from validator.audit.log.declared import Declarations, Declared, Pair
from validator.audit.log.documents import Planned
from validator.audit.log.histories import Histories
from validator.audit.log.windows import Windows
from validator.protocol.reasons import Reason
from validator.protocol.receipt import RoundEnd
from validator.protocol.round import RoundInput, RoundOutcome, RoundResults, TypeHistory
from validator.protocol.skill_types import SkillType
from validator.scoring import VERSIONS, ExecutionRules, Version
from validator.store.records import task_state

_KEPT: Final = 4_096  # rounds of which declarations and versions are remembered
_LOOKBACK: Final = 64 + max(version.rules.groups.history_rounds for version in VERSIONS.values())
_RESULTS: Final = max(version.rules.execution.results for version in VERSIONS.values())
_NO_HISTORY: Final = TypeHistory()
_TELLING: Final = (Reason.LOW_REPUTATION, Reason.FAILURE_RATE)


class Frozen(NamedTuple):
    """A round that was frozen: what a later vector asks of it. `counted`: it settled or is void."""

    number: int
    block: int
    version: str
    declared: Declared
    excluded: frozenset[Pair]
    counted: bool


class _Failures(NamedTuple):
    number: int
    dispatches: Counter[Pair]
    failures: Counter[Pair]


@dataclass(slots=True)
class Pay:
    """What the rounds read so far say of who is paid.

    Attributes:
        first: the first round of the file, None before it; what older ones did is not known.
        whole: there are no older ones.
        windows: score windows.
        histories: who was assigned as what.
        around: who had which uid.
        frozen: the newest rounds that were frozen, by id.
        excluded: pairs that a plan left out and no later answer has proven.
        proven: pairs of whom an answer passed.
        clouded: the newest round whose plan nobody can read.
        netuid: of the subnet, None before the first round.
        block, block_time: of the newest round that was frozen; 0 before the first.
    """

    first: int | None = None
    whole: bool = False
    windows: Windows = field(default_factory=Windows)
    histories: Histories = field(default_factory=Histories)
    around: Around = field(default_factory=Around)
    frozen: deque[Frozen] = field(default_factory=lambda: deque(maxlen=_KEPT))
    excluded: dict[Pair, int] = field(default_factory=dict)
    proven: dict[Pair, int] = field(default_factory=dict)
    clouded: int | None = None
    netuid: int | None = None
    block: int = 0
    block_time: int = 0
    _failures: deque[_Failures] = field(default_factory=deque)
    _declarations: Declarations = field(default_factory=Declarations)
    _executions: dict[Pair, deque[tuple[int, bool]]] = field(default_factory=dict)

    def end(self, end: RoundEnd, planned: Planned | None) -> Frozen | None:
        """Take in a round that ended, whatever became of it; return what is to be asked of it later."""
        if self.first is None:
            self.first = end.index
        if end.state != "settled" and (planned is not None or end.state == "abandoned"):
            self.histories.unsettled(planned)
        if planned is None:
            if end.state == "abandoned":
                self.clouded = end.index
            return None
        frozen = planned.frozen
        self.netuid = frozen.snapshot.netuid
        self.block, self.block_time = frozen.snapshot.block, frozen.snapshot.block_time
        self.around.add(frozen.snapshot)
        told = Frozen(
            frozen.index,
            frozen.snapshot.block,
            frozen.scoring_version,
            self._declarations.of((miner.hotkey, str(name)) for miner in frozen.miners for name in miner.skill_types),
            frozenset(_excluded(planned)),
            end.state in ("settled", "void"),
        )
        self.frozen.append(told)
        for pair in told.excluded:
            self.excluded[pair] = told.number
        return told

    def settle(self, version: Version, planned: Planned, results: RoundResults, outcome: RoundOutcome) -> None:
        """Take in what a settled round came to; `end` comes before it."""
        self.histories.settle(planned, results, outcome)
        frozen = planned.frozen
        types = {task.task_id: str(task.skill_type) for task in frozen.tasks}
        settled = {group.task_id for group in outcome.groups if task_state(group.reason) == "settled"}
        passed = [(one.hotkey, types[one.task_id]) for one in results.passed if one.task_id in settled]
        failed = [(one.hotkey, types[one.task_id]) for one in results.rejections if one.task_id in settled]
        self._failures.append(_Failures(frozen.index, Counter(passed + failed), Counter(failed)))
        for struck in version.struck_entries(frozen):
            for one in self._failures:
                if one.number == int(struck.round_id):
                    one.failures[struck.hotkey, str(struck.skill_type)] += 1
        for result in frozen.executions:
            pair = result.hotkey, str(result.skill_type)
            last = self._executions.setdefault(pair, deque(maxlen=_RESULTS))
            last.append((frozen.index, result.event == "rerun_fail"))
        while self._failures[0].number < frozen.index - _LOOKBACK:
            self._failures.popleft()
        for pair in passed:
            self.proven[pair] = frozen.index
            if self.excluded.get(pair, frozen.index) < frozen.index:
                del self.excluded[pair]
        self.windows.settle(version, frozen, outcome)

    def known_proven(self) -> frozenset[Pair] | None:
        """Return of whom the file shows that nothing from before it stands against them; None: of everybody."""
        if self.whole and self.clouded is None:
            return None
        since = -1 if self.clouded is None else self.clouded
        return frozenset(pair for pair, index in self.proven.items() if index > since)

    def history_fault(self, frozen: RoundInput, lookback: int) -> str | None:
        """Return the first place of an input whose histories do not follow from the rounds before it; learn the rest.

        Args:
            frozen: the input.
            lookback: over how many rounds its version counts dispatches and failures.
        """
        since = frozen.index - lookback
        shown = self.covers(since)
        sent, failed = Counter[Pair](), Counter[Pair]()
        for one in self._since(since):
            sent.update(one.dispatches)
            failed.update(one.failures)
        for i, miner in enumerate(frozen.miners):
            for name in SkillType:
                told, pair = miner.history.get(name, _NO_HISTORY), (miner.hotkey, str(name))
                counts = told.dispatches, told.failures
                if told.in_flight or (shown and counts != (sent[pair], failed[pair])):
                    return f"miners[{i}].history.{name}"
            wrong = self.histories.fault(miner, whole=self.whole)
            if wrong is not None:
                return f"miners[{i}].history.{wrong}.recent_roles"
        return None

    def failures(self, pair: Pair, since: int) -> tuple[int, int]:
        """Return dispatches and failures of a pair in the rounds from `since` on."""
        rounds = self._since(since)
        return sum(one.dispatches[pair] for one in rounds), sum(one.failures[pair] for one in rounds)

    def execution_fails(self, pair: Pair, next_round: int, rules: ExecutionRules) -> tuple[int, ...]:
        """Return how many of a pair's last results may be fails: more than one number where the file begins later."""
        since = next_round - rules.rounds
        events = [fail for index, fail in self._executions.get(pair, ()) if index >= since][-rules.results :]
        exact = self.covers(since) or len(events) == rules.results
        return (sum(events),) if exact else (sum(events), rules.results)

    def _since(self, since: int) -> list[_Failures]:
        return [one for one in self._failures if one.number >= since]

    def covers(self, since: int) -> bool:
        """Whether the file shows all rounds from `since` on, as far as they are remembered."""
        return self.whole or (self.first is not None and since >= self.first)

    def remembers(self, since: int) -> bool:
        """Whether of all rounds from `since` on the declarations are remembered."""
        full = len(self.frozen) == _KEPT
        return self.covers(since) and (not full or self.frozen[0].number <= since)


def _excluded(planned: Planned) -> Iterator[Pair]:
    for task, group in zip(planned.frozen.tasks, planned.plan.groups, strict=True):
        for hotkey, reason in group.excluded.items():
            if reason in _TELLING:
                yield hotkey, str(task.skill_type)
