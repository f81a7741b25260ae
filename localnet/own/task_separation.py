"""Separation of miners by an owner's tasks: the result of each answer, and how far good and bad ones differ. Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from localnet.analysis_cost import BundleEffort
from localnet.own.ledger import Ledger, OwnAnswer
from localnet.own.own_tasks import OwnTask, OwnTasks
from localnet.own.results import Counts, Heard, MinerOnTask, TaskResult, TypeResult, Why
from localnet.own.task_advice import advice
from localnet.roster import Resident
from sssa.protocol.arithmetic import mean
from sssa.protocol.reasons import Reason
from sssa.protocol.skill_types import SkillType

SPREAD: Final = 0.05
"""Between the best and the worst miner's mean score: less tells nobody apart."""
MINERS: Final = 3
"""With a scored answer, at least."""
_SEPARATING: Final = frozenset({"separates", "by_group", "upside_down"})
_BY_GROUP: Final = frozenset({"consensus", "epsilon"})
"""What the score has of the group and of the evidence; the rest is measured by the truth."""
_CARELESS: Final = frozenset({"sloppy", "lazy", "forgetful", "hasty"})
_CAREFUL: Final = frozenset({"thorough", "skilled"})


def task_result(
    sha256: str, task: OwnTask, answers: Sequence[OwnAnswer], heard: Heard, residents: Mapping[str, Resident]
) -> TaskResult:
    """Return the results of a task's answers.

    Args:
        sha256: of the task.
        task: what it is.
        answers: every dispatch.
        heard: what else is known.
        residents: who answered, by hotkey.
    """
    miners = _miners(answers, residents)
    scores = [one.mean_score for one in miners if one.mean_score is not None]
    spread = max(scores) - min(scores) if len(scores) > 1 else None
    by = _differing(answers)
    counts = counts_of(answers)
    why = _why(task, counts, answers, heard, miners, by)
    return TaskResult(
        task=task.name,
        skill_type=task.skill_type,
        sha256=sha256,
        has_truth=task.has_truth,
        given=heard.given,
        counts=counts,
        spread=spread,
        by=by,
        separates=why in _SEPARATING,
        why=why,
        advice=advice(why, task, counts, heard, by),
        analysis_s=heard.analysis_s,
        miners=miners,
        answers=answers,
    )


def type_results(tasks: Iterable[TaskResult]) -> tuple[TypeResult, ...]:
    """Return the results of each type's tasks, in the specification's order of the types."""
    by_type: dict[SkillType, list[TaskResult]] = defaultdict(list)
    for task in tasks:
        by_type[task.skill_type].append(task)
    return tuple(
        TypeResult(
            skill_type,
            len(by_type[skill_type]),
            sum(task.given > 0 for task in by_type[skill_type]),
            sum(task.separates for task in by_type[skill_type]),
            counts_of([answer for task in by_type[skill_type] for answer in task.answers]),
        )
        for skill_type in SkillType
        if skill_type in by_type
    )


def counts_of(answers: Sequence[OwnAnswer]) -> Counts:
    """Return the counts of these dispatches' results."""
    failed = Counter(answer.reason for answer in answers if answer.reason.gate)
    return Counts(
        dispatches=len(answers),
        passed=len(answers) - failed.total(),
        failed={reason: failed[reason] for reason in sorted(failed, key=lambda one: (-failed[one], one))},
        mean_quality=_mean(answer.quality for answer in answers),
        mean_consensus=_mean(answer.consensus for answer in answers),
        mean_score=_mean(answer.score for answer in answers),
    )


def _miners(answers: Sequence[OwnAnswer], residents: Mapping[str, Resident]) -> tuple[MinerOnTask, ...]:
    of: dict[str, list[OwnAnswer]] = defaultdict(list)
    for answer in answers:
        of[answer.hotkey].append(answer)
    miners = [_miner(hotkey, residents[hotkey], its) for hotkey, its in of.items() if hotkey in residents]
    return tuple(sorted(miners, key=lambda one: (-(one.mean_score if one.mean_score is not None else -1.0), one.name)))


def _miner(hotkey: str, resident: Resident, answers: Sequence[OwnAnswer]) -> MinerOnTask:
    counts = counts_of(answers)
    return MinerOnTask(
        hotkey=hotkey,
        name=resident.name,
        behaviour=resident.kind,
        dispatches=counts.dispatches,
        passed=counts.passed,
        mean_quality=counts.mean_quality,
        mean_consensus=counts.mean_consensus,
        mean_score=counts.mean_score,
    )


def _differing(answers: Sequence[OwnAnswer]) -> tuple[str, ...]:
    """Return the parts of the score by which miners' means differ, the widest first."""
    values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for answer in answers:
        for name, value in answer.parts.items():
            values[name][answer.hotkey].append(value)
    spreads = {}
    for name, of_miners in values.items():
        means = [mean(its) for its in of_miners.values()]
        spreads[name] = max(means) - min(means)
    wide = [name for name, spread in spreads.items() if spread >= SPREAD]
    return tuple(sorted(wide, key=lambda name: (-spreads[name], name)))


def _why(  # noqa: PLR0911, PLR0913, PLR0917 - one line for each cause, from the outermost inwards
    task: OwnTask,
    counts: Counts,
    answers: Sequence[OwnAnswer],
    heard: Heard,
    miners: Sequence[MinerOnTask],
    by: tuple[str, ...],
) -> Why:
    if not heard.given:
        return "nobody" if heard.skipped else "not_given"
    late = 2 * counts.failed.get(Reason.DEADLINE_LATE, 0) >= counts.dispatches
    if not counts.passed:
        return "late" if late else "failed"
    if counts.mean_score is None:
        deferred = any(answer.reason is Reason.WORKFLOW_DEFERRED for answer in answers)
        return "unjudged" if deferred else "truth_missing"
    scores = [one.mean_score for one in miners if one.mean_score is not None]
    if len(scores) < MINERS:
        return "late" if late else "too_few"
    if max(scores) - min(scores) < SPREAD:
        return "equal" if task.has_truth else "truth_missing"
    if not by:
        return "speed"
    if _upside_down(miners):
        return "upside_down"
    separated_by_truth = task.has_truth and not _BY_GROUP.issuperset(by)
    return "separates" if separated_by_truth else "by_group"


def _upside_down(miners: Sequence[MinerOnTask]) -> bool:
    """Return whether careless miners score higher than careful ones."""
    careless, careful = (
        _mean(one.mean_score for one in miners if one.behaviour in kinds) for kinds in (_CARELESS, _CAREFUL)
    )
    return careless is not None and careful is not None and careless - careful >= SPREAD


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return mean(known) if known else None


@dataclass(frozen=True, slots=True)
class OwnStory:
    """Results of an owner's tasks.

    Attributes:
        pace: how many times faster than on chain the network's time ran.
        types: what was scored of each type.
        tasks: the tasks, in the order of their paths.
    """

    pace: float
    types: tuple[TypeResult, ...]
    tasks: tuple[TaskResult, ...]


def own_story(
    tasks: OwnTasks, ledger: Ledger, effort: Sequence[BundleEffort], residents: Mapping[str, Resident]
) -> OwnStory:
    """Return what a run says of the tasks.

    Args:
        tasks: the owner's.
        ledger: their answers.
        effort: what analyses cost.
        residents: who answered, by hotkey.
    """
    seconds = {(row.bundle, row.skill_type): row.median_s for row in effort}
    results = [
        task_result(
            sha256,
            task,
            ledger.of((kind, sha256)),
            Heard(
                given=ledger.given.get((kind, sha256), 0),
                skipped=ledger.skipped.get((kind, sha256), 0),
                analysis_s=seconds.get((task.name, kind)),
                pace=tasks.pace.times,
            ),
            residents,
        )
        for (kind, sha256), task in tasks.known.items()
    ]
    return OwnStory(tasks.pace.times, type_results(results), tuple(results))
