"""The outcome of a round whose truths are not all shown: all follows but the axes, which are taken as told (D-31).

From the axes that an answer is said to have come to follows the rest of its score. Some verdict must give the verdict
axes of all answers to a task; the time axis, and every number that needs no truth, is computed as ever.
"""

from collections.abc import Collection, Sequence
from typing import Final

from msgspec import UNSET, structs

from validator.kinds.registry import kind_of
from validator.protocol.reasons import Reason
from validator.protocol.round import (
    AssessedMember,
    AssessmentTask,
    Emission,
    MemberOutcome,
    RoundInput,
    RoundOutcome,
    RoundPlan,
    RoundResults,
    Submission,
)
from validator.protocol.round.telling import expected_commands
from validator.protocol.sssa import Verdict
from validator.protocol.task import Truth
from validator.scoring import Standard, Version

_VERDICTS: Final[tuple[Verdict, ...]] = ("ALLOW", "REVIEW", "BLOCK")
_KNOWN: Final = ("alpha", "eta")  # the axes that a verdict and the time alone give


class UntoldError(Exception):
    """Commands in the answers are not those of the truth; `args` has the place."""


def rest_on_untold(version: Version, frozen: RoundInput, results: RoundResults) -> dict[str, int]:
    """Return how many scores rest on a truth that is not shown, by kind of task."""
    untold = {task.task_id: task for task in frozen.tasks if task.truth_sha256 is not UNSET}
    counts: dict[str, int] = {}
    for answer in results.passed:
        task = untold.get(answer.task_id)
        if task is not None and kind_of(task).needs_truth(version, task, answer):
            counts[kind_of(task).name] = counts.get(kind_of(task).name, 0) + 1
    return counts


def as_sent(frozen: RoundInput, results: RoundResults) -> RoundResults:
    """Return what came back with the commands that truths name, where the log has their places.

    Raises:
        UntoldError: there is no such place.
    """
    commands = expected_commands(frozen)

    def sent(answer: Submission, place: str) -> Submission:
        if answer.task_id not in commands or answer.shell_commands is None:
            return answer
        expected = commands[answer.task_id]
        try:
            named = tuple(expected[int(one)] for one in answer.shell_commands)
        except (ValueError, IndexError):
            raise UntoldError(place) from None
        again = tuple(str(expected.index(one)) for one in sorted(set(named)))
        if again != answer.shell_commands:
            raise UntoldError(place)
        return structs.replace(answer, shell_commands=named)

    passed = tuple(
        sent(one, f"submissions[{i}].shell_commands") if isinstance(one, Submission) else one
        for i, one in enumerate(results.passed)
    )
    return structs.replace(results, passed=passed)


def score_told(
    version: Version, frozen: RoundInput, plan: RoundPlan, results: RoundResults, told: RoundOutcome
) -> RoundOutcome:
    """Return the round's outcome; where a truth is not shown, with the axes of `told` as far as they can be.

    Args:
        version: the round's.
        frozen: its input, with the truths that are shown.
        plan: its groups.
        results: what came back.
        told: the outcome that the log has.
    """
    outcome = version.score(frozen, plan, results)
    void = {task.task_id for task in results.void}
    untold = {
        task.task_id: task
        for task in frozen.tasks
        if isinstance(task, AssessmentTask) and task.truth_sha256 is not UNSET and task.task_id not in void
    }
    if not untold:
        return outcome
    groups = tuple(
        structs.replace(group, provenance=untold[group.task_id].provenance) if group.task_id in untold else group
        for group in outcome.groups
    )
    members = list(outcome.members)
    if len(told.members) == len(members):
        for task in untold.values():
            _take_axes(version, frozen, task, results, members, told.members)
    return structs.replace(outcome, groups=groups, members=tuple(members))


def _take_axes(  # noqa: PLR0913, PLR0917 - a task of a round, and what is told of it
    version: Version,
    frozen: RoundInput,
    task: AssessmentTask,
    results: RoundResults,
    members: list[MemberOutcome],
    told: Sequence[MemberOutcome],
) -> None:
    """Give the task's members the emissions that their told axes make; those whose axes cannot be stay as they are."""
    answers = {one.hotkey: one for one in results.answers(task.task_id, Submission)}
    possible: Collection[Verdict] = _VERDICTS
    for i, (member, said) in enumerate(zip(members, told, strict=True)):
        if member.task_id != task.task_id or not isinstance(member, AssessedMember):
            continue
        if not isinstance(said, AssessedMember) or said.emission is None:
            continue
        answer = answers[member.hotkey]
        emissions = {
            verdict: emission
            for verdict in possible
            if (emission := _emission(version, frozen, task, answer, member, said.emission, verdict)) is not None
        }
        if not emissions:
            continue
        possible = tuple(emissions)
        emission = next(iter(emissions.values()))
        early = answer.seconds < task.windows.of(answer.role).t_min
        reason = Reason.ACCEPTED_EARLY if early else Reason.ACCEPTED
        members[i] = structs.replace(member, reason=reason, emission=emission, window_entry=emission.emission)


def _emission(  # noqa: PLR0913, PLR0917 - an answer, and what is told of it
    version: Version,
    frozen: RoundInput,
    task: AssessmentTask,
    answer: Submission,
    member: AssessedMember,
    said: Emission,
    verdict: Verdict,
) -> Emission | None:
    """Return the emission that the told axes make if the truth has this verdict; None where they cannot be."""
    if task.provenance == "none":
        return None
    standard = Standard(Truth(verdict, None, None, None, None, None, None, None), task.provenance)
    facts = version.answer_facts(answer, member.consensus, standard, task, frozen.snapshot.epoch)
    known = version.axes(facts)
    names = [name for name, _ in version.rules.types[task.skill_type].axes if name in said.axes]
    if set(said.axes) != set(names) or not set(_KNOWN) <= set(names):
        return None
    if any(said.axes[name] != known[name] for name in _KNOWN):
        return None
    if any(not 0.0 <= value <= 1.0 for value in said.axes.values()):
        return None
    return version.emission_of(facts, {name: said.axes[name] for name in names})
