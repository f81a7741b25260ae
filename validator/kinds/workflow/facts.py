"""What scoring and those who verify take of the plans that were run."""

from collections.abc import Mapping

from validator.kinds.judging import Expected, Judged, Key
from validator.protocol.round import GoalTask, WorkflowSubmission
from validator.scoring import Fault, Version


def facts(_version: Version, judged: Mapping[Key, Judged]) -> tuple[WorkflowSubmission, ...]:
    """Return the plans that were run: nothing of one depends on another."""
    return tuple(one.result for one in judged.values() if isinstance(one.result, WorkflowSubmission))


def fault(version: Version, task: GoalTask, answer: WorkflowSubmission) -> Fault | None:
    """Return what does not hold of a stored plan and its run, None where all of it fits."""
    return version.submission_fault(task, answer)


def needs_truth(version: Version, task: GoalTask, answer: WorkflowSubmission) -> bool:
    """Whether the run's quality was read with the reference: that of code is found by running it, or not yet known."""
    return version.rests_on_reference(task.goal, version.result_of(answer.plan, answer.run))


def misstated(
    _version: Version, expected: Expected[GoalTask], answer: WorkflowSubmission, _witnesses: int
) -> Fault | None:
    """Return what the gates cannot have let pass; the run is held against its plan by `fault`."""
    if answer.seconds > expected.task.windows.of(answer.role).deadline:
        return Fault("seconds", "is later than the deadline, which gate 1 does not let pass")
    return None
