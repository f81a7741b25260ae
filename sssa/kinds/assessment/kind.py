"""The assessment as a `Kind`: the functions of this room that the round flow calls, in one value."""

from typing import Final

from sssa.kinds.assessment.checks import fault, misstated, needs_truth
from sssa.kinds.assessment.explanation import explain_assessment
from sssa.kinds.assessment.gates import applying_gates
from sssa.kinds.assessment.judge import completed, judge
from sssa.kinds.assessment.proof import prove
from sssa.kinds.assessment.requests import requests
from sssa.kinds.interface import Kind
from sssa.protocol.results import Submission
from sssa.protocol.round import AssessmentTask
from sssa.protocol.skill_types import ASSESSED_TYPES

ASSESSMENT: Final[Kind[AssessmentTask, Submission]] = Kind(
    name="assessment",
    types=ASSESSED_TYPES,
    runs=False,
    send=requests,
    judge=judge,
    completed=completed,
    fault=fault,
    prove=prove,
    explain=explain_assessment,
    needs_truth=needs_truth,
    gates=applying_gates,
    misstated=misstated,
)
