"""A plan and its run, step by step (SPEC 12)."""

from typing import Final

from validator.protocol.canonical import canonical_bytes, digest
from validator.protocol.reasons import Reason, meaning_of
from validator.protocol.sssa import Document
from validator.protocol.workflow_plan import PlanNode, WorkflowPlan
from validator.protocol.workflow_run import Attempt, RunRecord, StepRecord
from validator.scoring import Version

SHOWN: Final = 200  # code points of parameters and outputs


class Step(Document, frozen=True):
    """One step, as declared and as it went.

    Attributes:
        after: ids of the steps it waits for.
        params: canonical JSON, cut after 200 code points.
        estimated_cost, estimated_latency: as declared, in TAO and seconds.
        retries, timeout_seconds: as declared.
        outcome, meaning: how it ended; `detail` says more where it was not started.
        attempts: its tries, in seconds since the run began.
        output_sha256: of its output; None without one.
        output: how that begins, 200 code points of text, code or JSON.
        is_result: whether this output is the one that was judged.
    """

    node_id: str
    service: str
    action: str
    after: tuple[str, ...]
    params: str
    estimated_cost: float
    estimated_latency: float
    retries: int
    timeout_seconds: float
    outcome: Reason
    meaning: str | None
    detail: str
    attempts: tuple[Attempt, ...]
    output_sha256: str | None
    output: str | None
    is_result: bool


class Run(Document, frozen=True):
    """The plan and the whole run; totals as declared, `ceiling_tao` what the run was allowed to cost."""

    run_id: str
    plan_sha256: str
    estimated_cost: float
    estimated_latency: float
    ceiling_tao: float
    seconds: float
    steps: tuple[Step, ...]


def explain_run(version: Version, plan: WorkflowPlan, run: RunRecord) -> Run:
    """Return the steps of `plan`, in its order, with what became of each in `run`."""
    result = version.result_of(plan, run)
    steps = tuple(
        _step(version, plan, node, step, is_result=result is not None and step.output is result)
        for node, step in zip(plan.nodes, run.steps, strict=True)
    )
    cost, latency = plan.totals.estimated_cost, plan.totals.estimated_latency
    return Run(run.run_id, run.plan_sha256, cost, latency, run.ceiling_tao, run.seconds, steps)


def _step(version: Version, plan: WorkflowPlan, node: PlanNode, step: StepRecord, *, is_result: bool) -> Step:
    return Step(
        node_id=node.id,
        service=node.service,
        action=node.action,
        after=tuple(edge.source for edge in plan.edges if edge.target == node.id),
        params=_cut(canonical_bytes(node.params).decode()),
        estimated_cost=node.estimated_cost,
        estimated_latency=node.estimated_latency,
        retries=node.error_handling.retry_count,
        timeout_seconds=node.error_handling.timeout_seconds,
        outcome=step.outcome,
        meaning=meaning_of(step.outcome),
        detail=step.detail,
        attempts=step.attempts,
        output_sha256=None if step.output is None else digest(step.output),
        output=None if step.output is None else _cut(version.text_of(step.output)),
        is_result=is_result,
    )


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
