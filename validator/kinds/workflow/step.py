"""Run of one step, for `executor.py`: params from earlier outputs, calls of its service, budget, answer (SPEC 12)."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from sssa.protocol import arithmetic
from sssa.protocol.canonical import canonical_bytes, digest, sha256_hex
from sssa.protocol.errors import ValidatorError
from sssa.protocol.limits import MAX_RESOLVED_PARAMS
from sssa.protocol.reasons import Reason
from sssa.protocol.signatures import verify_document
from sssa.protocol.strict_json import JsonError
from sssa.protocol.text import printable
from sssa.protocol.workflow_plan import REFERENCE, PlanNode
from sssa.protocol.workflow_run import Attempt, StepAnswer, StepOutput, StepRecord, StepRequest, parse_step_answer
from sssa.protocol.workflow_task import Tool
from sssa.scoring import Version
from validator.cancellation import within
from validator.outgoing.stalls import OwnClock, StallsSince
from validator.workers.interface import TooCostlyError, Whose, Workers


@dataclass(frozen=True, slots=True)
class StepReply:
    """Result of one call of a step service.

    Attributes:
        reason: None when a 200 body arrived whole and within its limit; else the `step_` reason.
        body: what arrived, where `reason` is None.
        detail: one harmless line about a failure.
    """

    reason: Reason | None
    body: bytes
    detail: str = ""


class StepClient(Protocol):
    """Calls services. Every outcome is a `StepReply`; a call that takes too long is cancelled from outside."""

    async def call(self, tool: Tool, body: bytes, timeout_s: float, stalls: StallsSince) -> StepReply:
        """Send `body`, an encoded `StepRequest`, to the tool's service, once; the caller gives up after `timeout_s`.

        Raises:
            StalledError: the service gave up while the validator stood still, for one of `stalls`.
        """

    async def close(self) -> None:
        """Free what the client holds; no call may be open or follow."""


class Budget:
    """Reservations and charges, whose sum never exceeds the ceiling.

    Args:
        ceiling: in TAO; amounts are added up in whole rao (D-32).
    """

    def __init__(self, ceiling: float) -> None:
        self.ceiling = ceiling
        self._reserved: list[float] = []
        self._charged: list[float] = []
        self._settled = asyncio.Event()

    async def admit(self, most: float) -> bool:
        """Reserve `most` for one attempt; wait while it would fit once others have settled for less than reserved.

        Returns:
            Whether it was reserved; False when it does not fit next to what was charged already.
        """
        while arithmetic.total((*self._charged, *self._reserved, most)) > self.ceiling:
            if arithmetic.total((*self._charged, most)) > self.ceiling:
                return False
            await self._settled.wait()
        self._reserved.append(most)
        return True

    def settle(self, most: float, charge: float) -> None:
        """Turn a reservation into its charge, at most as large."""
        if charge > most:
            raise ValueError(f"a charge of {charge} on a reservation of {most}")
        self._reserved.remove(most)
        self._charged.append(charge)
        self._settled.set()
        self._settled = asyncio.Event()


class UnresolvedError(ValidatorError):
    """A reference has no value, or the values are too large."""


def resolve(params: dict[str, Any], outputs: Mapping[str, StepOutput]) -> dict[str, Any]:
    """Return `params` with every `${node.output.path}` replaced.

    A string that is one reference becomes the value itself; within a longer string a text is put in as it is and
    anything else as canonical JSON.

    Raises:
        UnresolvedError: no value there (null counts as none), or more than 256 KiB altogether.
    """
    resolved: dict[str, Any] = _Resolver(outputs).resolved(params)
    return resolved


class _Resolver:
    def __init__(self, outputs: Mapping[str, StepOutput]) -> None:
        self._plain = {node: msgspec.to_builtins(output) for node, output in outputs.items()}
        self._remaining = MAX_RESOLVED_PARAMS

    def resolved(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._filled(value)
        if isinstance(value, dict):
            return {key: self.resolved(item) for key, item in value.items()}
        return [self.resolved(item) for item in value] if isinstance(value, list) else value

    def _filled(self, text: str) -> Any:
        whole = REFERENCE.fullmatch(text)
        if whole is not None:
            value = self._value(whole[1], whole[2])
            self._written(value)
            return value
        return REFERENCE.sub(lambda match: self._written(self._value(match[1], match[2])), text)

    def _value(self, node: str, path: str) -> Any:
        value: Any = self._plain[node]
        for key in path.split("."):
            if isinstance(value, dict) and key in value:
                value = value[key]
            elif isinstance(value, list) and key.isdecimal() and key.isascii() and int(key) < len(value):
                value = value[int(key)]
            else:
                raise UnresolvedError(f"`{node}.output.{path}` does not exist")
        if value is None:
            raise UnresolvedError(f"`{node}.output.{path}` is null")
        return value

    def _written(self, value: Any) -> str:
        written = value if isinstance(value, str) else canonical_bytes(value).decode()
        self._remaining -= len(written.encode())
        if self._remaining < 0:
            raise UnresolvedError(f"more than {MAX_RESOLVED_PARAMS} bytes of outputs")
        return written


class Judged(NamedTuple):
    """Result of checking the body of a step's response.

    Attributes:
        outcome: a `step_` reason.
        answer: where one is signed for this request.
        detail: a line about a failure, not yet harmless.
        output_sha256: of the answer's output.
    """

    outcome: Reason
    answer: StepAnswer | None
    detail: str
    output_sha256: str | None = None


def judge_answer(body: bytes, request: bytes, hotkey: str, most: float) -> Judged:
    """Return whether `body` answers `request`. Takes up to 50 ms for the largest answers.

    Args:
        body: what the service sent.
        request: the body that it was sent.
        hotkey: of the service, as the task names it.
        most: TAO that were admitted for this attempt.
    """
    try:
        answer = parse_step_answer(body)
    except JsonError as error:
        return Judged(Reason.STEP_SCHEMA, None, str(error))
    if answer.request_sha256 != sha256_hex(request):
        return Judged(Reason.STEP_OTHER_REQUEST, None, "at `request_sha256`")
    if not verify_document(answer, hotkey):
        return Judged(Reason.STEP_SIGNATURE, None, "at `signature`")
    output_sha256 = digest(answer.output)
    if arithmetic.whole(answer.cost_tao) > most:
        detail = f"{answer.cost_tao:g} TAO, admitted were {most:g}"
        return Judged(Reason.STEP_OVERCHARGED, answer, detail, output_sha256)
    return Judged(Reason.STEP_SUCCEEDED, answer, "", output_sha256)


_CUT_OFF: Final = Judged(Reason.STEP_RUN_ENDED, None, "")


@dataclass(frozen=True, slots=True)
class RunContext:
    """Values that all steps of a run share.

    Attributes:
        run_id: unique for every run of any plan.
        started: its monotonic time when the run began.
    """

    version: Version
    run_id: str
    services: StepClient
    clock: OwnClock
    started: float
    budget: Budget
    workers: Workers

    def moment(self) -> float:
        """Return the seconds since the run began."""
        return self.clock.monotonic() - self.started

    async def judged(self, body: bytes, request: bytes, hotkey: str, most: float) -> Judged:
        """Return the result of `judge_answer` in a worker; a body that is too costly to judge is no answer."""
        call = partial(judge_answer, body, request, hotkey, most)
        try:
            return await self.workers.run(Whose(hotkey, self.run_id), lambda: call, urgent=True)
        except TooCostlyError as error:
            return Judged(Reason.STEP_SCHEMA, None, str(error))


@dataclass(slots=True)
class Step:
    """A step in progress; `record` has its attempts so far at any time.

    Attributes:
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

    async def run(self, context: RunContext, outputs: Mapping[str, StepOutput]) -> None:
        """Try until an attempt succeeds or none is left.

        After the declared retries one more follows when the last attempt's connection broke before any byte of the
        answer: the unplanned retry of the formula.
        """
        try:
            params = resolve(self.node.params, outputs)
        except UnresolvedError as error:
            self.outcome, self.detail = Reason.STEP_REFERENCE, error.detail
            return
        most = arithmetic.whole(max(self.node.estimated_cost, self.tool.avg_cost_tao))
        declared = 1 + self.node.error_handling.retry_count
        outcome = None
        while outcome is None or self._again(outcome, declared):
            if not await context.budget.admit(most):
                outcome = outcome or Reason.STEP_BUDGET
                break
            outcome = await self._attempt(context, params, most)
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

    async def _attempt(self, context: RunContext, params: dict[str, Any], most: float) -> Reason:
        """Call the service once, record the attempt and settle its cost."""
        timeout_s = self.node.error_handling.timeout_seconds
        request = msgspec.json.encode(
            StepRequest(
                run_id=context.run_id,
                node_id=self.node.id,
                attempt=len(self.attempts) + 1,
                service=self.tool.service,
                action=self.tool.action,
                params=params,
                max_cost_tao=most,
                timeout_seconds=timeout_s,
            )
        )
        self.open_since = context.moment()
        try:
            reply = await within(
                context.clock, timeout_s, context.services.call(self.tool, request, timeout_s, context.clock.stalls)
            )
        except TimeoutError:
            reply = StepReply(Reason.STEP_TIMEOUT, b"")
        ended = context.moment()
        if reply.reason is None:
            judged = await context.judged(reply.body, request, self.tool.hotkey, most)
        else:
            judged = Judged(reply.reason, None, reply.detail)
        cost = 0.0 if judged.answer is None else min(arithmetic.whole(judged.answer.cost_tao), most)
        context.budget.settle(most, cost)
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
