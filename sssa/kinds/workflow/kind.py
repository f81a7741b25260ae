"""The workflow as a `Kind`: the functions of this room that rounds, replay and audit call, in one value."""

from typing import Final

from sssa.kinds.interface import Kind
from sssa.kinds.workflow.explanation import explain_workflow
from sssa.kinds.workflow.gates import applying_gates, completed, judge_plan, misstated, needs_truth
from sssa.kinds.workflow.proof import prove
from sssa.kinds.workflow.requests import requests
from sssa.protocol.results import WorkflowSubmission
from sssa.protocol.round import GoalTask
from sssa.protocol.skill_types import SkillType
from sssa.scoring import submission_fault

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
