"""Judging a run's result by its task's reference (SPEC 12)."""

from typing import NamedTuple

from validator.protocol.reasons import Reason
from validator.protocol.workflow_run import StepOutput
from validator.protocol.workflow_task import WorkflowTask
from validator.scoring import Version


class Quality(NamedTuple):
    """A quality in [0, 1]; None when it is deferred, `reason` then says so."""

    value: float | None
    reason: Reason


def judge_output(version: Version, task: WorkflowTask, output: StepOutput | None) -> Quality:
    """Return how good the result of a run is; 0 without a result, deferred where only running it can tell.

    Args:
        version: the round's.
        task: its type picks the rule, its reference the measure.
        output: see `result_of`.
    """
    value = version.read_quality(task, output)
    return Quality(value, Reason.QUALITY_DEFERRED if value is None else Reason.QUALITY_JUDGED)
