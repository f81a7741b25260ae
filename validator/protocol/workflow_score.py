"""What a workflow run was measured at and what that is worth, as values (SPEC 12)."""

from typing import Annotated

from msgspec import Meta

from validator.protocol.limits import MAX_SAFE_INTEGER
from validator.protocol.sssa import Document, Unit

Count = Annotated[int, Meta(ge=0, le=MAX_SAFE_INTEGER)]
Amount = Annotated[float, Meta(ge=0)]
Limit = Annotated[float, Meta(gt=0)]  # a limit of 0 or less is a bad task (D-12)


class WorkflowRun(Document, frozen=True):
    """What was measured of one run; `total_steps` is the larger of the plan's steps and the task's required_steps."""

    output_quality: Unit
    steps_completed: Count
    total_steps: Count
    actual_tao: Amount
    max_budget_tao: Limit
    actual_seconds: Amount
    max_latency_seconds: Limit
    actual_retries: Count
    declared_retry_budget: Count
    timeouts: Count
    hard_failures: Count


class WorkflowScore(Document, frozen=True):
    """The four parts and their sum S, each in [0, 1]."""

    success: float
    cost: float
    latency: float
    reliability: float
    score: float
