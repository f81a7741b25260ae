"""One step of a run: its attempts, one after the other (SPEC 12)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import msgspec

from validator.chain.within import within
from validator.kinds.workflow.answers import Judged, judge_answer
from validator.kinds.workflow.budget import Budget
from validator.kinds.workflow.references import UnresolvedError, resolve
from validator.kinds.workflow.services import StepClient, StepReply
from validator.protocol.reasons import Reason
from validator.protocol.text import printable
from validator.protocol.workflow_plan import PlanNode
from validator.protocol.workflow_run import Attempt, StepOutput, StepRecord, StepRequest
from validator.protocol.workflow_task import Tool
from validator.scoring import Version
from validator.sources import Clock
from validator.workers.interface import TooCostlyError, Whose, Workers

_CUT_OFF: Final = Judged(Reason.STEP_RUN_ENDED, None, "")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all steps of a run share.

    Attributes:
        version: the round's.
        run_id: unique for every run of any plan.
        services: how they are called.
        clock: all times are its.
        started: its monotonic time when the run began.
        budget: what may be spent.
        workers: where answers are judged.
    """

    version: Version
    run_id: str
    services: StepClient
    clock: Clock
    started: float
    budget: Budget
    workers: Workers

    def moment(self) -> float:
        """Return the seconds since the run began."""
        return self.clock.monotonic() - self.started

    async def judged(self, body: bytes, request: bytes, hotkey: str, most: float) -> Judged:
        """Return what `judge_answer` makes of a body; one that is too costly to judge is no answer."""
        call = partial(judge_answer, body, request, hotkey, most, self.version.name)
        try:
            return await self.workers.run(Whose(hotkey, self.run_id), lambda: call, urgent=True)
        except TooCostlyError as error:
            return Judged(Reason.STEP_SCHEMA, None, str(error))


@dataclass(slots=True)
class Step:
    """A step on its way; whatever interrupts it, `record` tells how far it came.

    Attributes:
        node: the step of the plan.
        tool: what it calls.
        attempts: those that have ended.
        outcome: how it ended; until then, what it will have been if the run ends now.
        output: of the attempt that succeeded.
        open_since: when the attempt that is under way began.
        detail: one harmless line about why it was not started.
    """

    node: PlanNode
    tool: Tool
    attempts: list[Attempt] = field(default_factory=list)
    outcome: Reason = Reason.STEP_RUN_ENDED
    output: StepOutput | None = None
    open_since: float | None = None
    detail: str = ""

    async def run(self, around: Surroundings, outputs: Mapping[str, StepOutput]) -> None:
        """Try until an attempt succeeds or none is left.

        After the declared retries one more follows when the last attempt's connection broke before any byte of the
        answer: the unplanned retry of the formula.
        """
        try:
            params = resolve(self.node.params, outputs)
        except UnresolvedError as error:
            self.outcome, self.detail = Reason.STEP_REFERENCE, error.detail
            return
        most = around.version.tao(max(self.node.estimated_cost, self.tool.avg_cost_tao))
        declared = 1 + self.node.error_handling.retry_count
        outcome = None
        while outcome is None or self._again(outcome, declared):
            if not await around.budget.admit(most):
                outcome = outcome or Reason.STEP_BUDGET
                break
            outcome = await self._attempt(around, params, most)
        self.outcome = outcome

    def record(self, now: float) -> StepRecord:
        """Return the record; an attempt that is still under way ends `now`, with the run."""
        attempts = list(self.attempts)
        if self.open_since is not None:
            attempts.append(_attempt(self.open_since, now, _CUT_OFF, 0.0, b""))
        return StepRecord(self.node.id, self.outcome, tuple(attempts), self.output, self.detail)

    def _again(self, outcome: Reason, declared: int) -> bool:
        tried = len(self.attempts)
        if outcome == Reason.STEP_SUCCEEDED:
            return False
        return tried < declared or (tried == declared and outcome == Reason.STEP_CONNECTION)

    async def _attempt(self, around: Surroundings, params: dict[str, Any], most: float) -> Reason:
        """Call the service once; record what came of it and settle what it costs."""
        timeout_s = self.node.error_handling.timeout_seconds
        request = msgspec.json.encode(
            StepRequest(
                run_id=around.run_id,
                node_id=self.node.id,
                attempt=len(self.attempts) + 1,
                service=self.tool.service,
                action=self.tool.action,
                params=params,
                max_cost_tao=most,
                timeout_seconds=timeout_s,
            )
        )
        self.open_since = around.moment()
        try:
            reply = await within(around.clock, timeout_s, around.services.call(self.tool, request, timeout_s))
        except TimeoutError:
            reply = StepReply(Reason.STEP_TIMEOUT, b"")
        ended = around.moment()
        if reply.reason is None:
            judged = await around.judged(reply.body, request, self.tool.hotkey, most)
        else:
            judged = Judged(reply.reason, None, reply.detail)
        cost = 0.0 if judged.answer is None else min(around.version.tao(judged.answer.cost_tao), most)
        around.budget.settle(most, cost)
        self.attempts.append(_attempt(self.open_since, ended, judged, cost, reply.body))
        self.open_since = None
        if judged.outcome == Reason.STEP_SUCCEEDED and judged.answer is not None:
            self.output = judged.answer.output
        return judged.outcome


def _attempt(started: float, ended: float, judged: Judged, cost: float, body: bytes) -> Attempt:
    answer = judged.answer
    return Attempt(
        started=started,
        ended=ended,
        outcome=judged.outcome,
        cost_tao=cost,
        charged_tao=None if answer is None else answer.cost_tao,
        received=len(body),
        output_sha256=judged.output_sha256,
        detail=printable(judged.detail),
    )
