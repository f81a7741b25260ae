"""Workflow scoring, formula 1.1.0: nothing for nothing (SPEC 16, D-32)."""

import msgspec

from validator.protocol.workflow_run import WorkflowRun, WorkflowScore
from validator.scoring.rules import Ruled
from validator.scoring.v1_0 import workflow
from validator.scoring.values import Addend


def score_workflow(version: Ruled, run: WorkflowRun) -> WorkflowScore:
    """Return S as in 1.0.0, with its own gate (D-25); 0 if no step completed, whatever the parts.

    Raises:
        ValueError: more steps completed than there are.
    """
    score = workflow.score_workflow(version, run)
    return score if run.steps_completed else msgspec.structs.replace(score, score=0.0)


def worth_parts(version: Ruled, score: WorkflowScore) -> tuple[Addend, ...]:
    """Return the four parts of S; added up from left to right they are S: nothing each, where S is nothing."""
    parts = workflow.worth_parts(version, score)
    return parts if score.score else tuple(part._replace(contribution=0.0) for part in parts)
