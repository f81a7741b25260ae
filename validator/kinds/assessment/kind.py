"""The assessment as a `Kind`: the functions of this room that the round flow calls, in one value."""

from typing import Final

from validator.kinds.assessment.checks import fault, misstated, needs_truth
from validator.kinds.assessment.explanation import explain_assessment
from validator.kinds.assessment.gates import applying_gates
from validator.kinds.assessment.judge import completed, judge
from validator.kinds.assessment.proof import prove
from validator.kinds.assessment.requests import requests
from validator.kinds.interface import Kind
from validator.protocol.results import Submission
from validator.protocol.round import AssessmentTask
from validator.protocol.skill_types import ASSESSED_TYPES

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
