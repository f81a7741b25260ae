"""The workflow as a `Kind`: the functions of this room that rounds, replay and audit call, in one value."""

from typing import Final

from validator.kinds.interface import Kind
from validator.kinds.workflow.explanation import explain_workflow
from validator.kinds.workflow.gates import applying_gates, completed, judge_plan, misstated, needs_truth
from validator.kinds.workflow.proof import prove
from validator.kinds.workflow.requests import requests
from validator.protocol.results import WorkflowSubmission
from validator.protocol.round import GoalTask
from validator.protocol.skill_types import SkillType
from validator.scoring import submission_fault

WORKFLOW: Final[Kind[GoalTask, WorkflowSubmission]] = Kind(
    name="workflow",
    types=(SkillType.WORKFLOW,),
    runs=True,
    send=requests,
    judge=judge_plan,
    completed=completed,
    fault=submission_fault,
    prove=prove,
    explain=explain_workflow,
    needs_truth=needs_truth,
    gates=applying_gates,
    misstated=misstated,
)
