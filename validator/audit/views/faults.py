"""How often miners found the faults that bundles are known to have: what an owner learns of their skill (D-33)."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from validator.protocol.fault_matching import found_in
from validator.protocol.round import AssessmentTask, RoundInput, Submission
from validator.store import Transaction


@dataclass(frozen=True, slots=True)
class FaultShare:
    """So many of so many."""

    found: int
    known: int


@dataclass(frozen=True, slots=True)
class FinderView:
    """One miner.

    Attributes:
        answers: that passed the gates, to tasks whose faults are known.
        total: of all faults in them.
        families: the same by family, what stands before the `/` of a kind; `kinds` by the whole kind.
        beside: findings that name none of the faults.
    """

    hotkey: str
    answers: int
    total: FaultShare
    families: dict[str, FaultShare]
    kinds: dict[str, FaultShare]
    beside: int


@dataclass(frozen=True, slots=True)
class FaultList:
    """What was found of known faults.

    Attributes:
        rounds: settled ones that were looked at; `tasks` of them tell what there is to find.
        miners: those with an answer, who found the largest share first.
        kinds: by kind of fault, over all answers.
    """

    rounds: int
    tasks: int
    miners: tuple[FinderView, ...]
    kinds: dict[str, FaultShare]


@dataclass(slots=True)
class _Tally:
    answers: int = 0
    beside: int = 0
    found: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)


async def fault_list(tx: Transaction, rounds: int, step: Callable[[], None] = lambda: None) -> FaultList:
    """Return what miners found in the newest `rounds` rounds; `step` is called after each.

    Raises:
        DamagedError: a stored submission or attestation cannot be read.
    """
    miners: dict[str, _Tally] = {}
    settled = tasks = 0
    for record in await tx.rounds.listing(rounds):
        stored = await tx.rounds.get(record.round_id) if record.state == "settled" else None
        if stored is not None and stored.input is not None:
            settled += 1
            tasks += await _count(tx, stored.input, miners)
        step()
    everyone = _Tally()
    for tally in miners.values():
        everyone.found += tally.found
        everyone.known += tally.known
    views = sorted((_view(hotkey, tally) for hotkey, tally in miners.items()), key=_rank)
    return FaultList(settled, tasks, tuple(views), _shares(everyone))


async def _count(tx: Transaction, frozen: RoundInput, miners: dict[str, _Tally]) -> int:
    known = {
        task.task_id: task.truth.findings
        for task in frozen.tasks
        if isinstance(task, AssessmentTask) and task.truth is not None and isinstance(task.truth.findings, tuple)
    }
    results = await tx.submissions.results(frozen.index, known) if known else None
    for answer in results.passed if results else ():
        if not isinstance(answer, Submission):
            continue
        faults = known[answer.task_id]
        named = found_in(faults, answer.sssa.analysis.findings)
        tally = miners.setdefault(answer.hotkey, _Tally())
        tally.answers += 1
        tally.beside += len(named.unplanted)
        tally.known.update(fault.kind for fault in faults)
        tally.found.update(fault.kind for fault, by in zip(faults, named.by, strict=True) if by is not None)
    return len(known)


def _view(hotkey: str, tally: _Tally) -> FinderView:
    families = _Tally()
    for kind, known in tally.known.items():
        family = kind.partition("/")[0]
        families.known[family] += known
        families.found[family] += tally.found[kind]
    total = FaultShare(tally.found.total(), tally.known.total())
    return FinderView(hotkey, tally.answers, total, _shares(families), _shares(tally), tally.beside)


def _shares(tally: _Tally) -> dict[str, FaultShare]:
    return {kind: FaultShare(tally.found[kind], tally.known[kind]) for kind in sorted(tally.known)}


def _rank(miner: FinderView) -> tuple[float, str]:
    return (-miner.total.found / max(1, miner.total.known), miner.hotkey)
