"""Steps of a run with their services, the record of the run, and what it and its code are measured at (SPEC 12)."""

from typing import Annotated, Any, Final, Literal

from msgspec import Meta

from sssa.protocol import limits
from sssa.protocol.answer import Id
from sssa.protocol.canonical import NotCanonicalError, canonical_bytes, sha256_hex
from sssa.protocol.limits import MAX_SAFE_INTEGER
from sssa.protocol.reasons import Reason
from sssa.protocol.sssa import Document, Hex32, Signature, Text, Unit
from sssa.protocol.strict_json import SchemaError, decode
from sssa.protocol.text import printable
from sssa.protocol.workflow_task import Code, OutputText, Tao

MAX_TESTS: Final = 10_000
MAX_LINT_FINDINGS: Final = 100_000
MAX_CODE_REPORT: Final = 1_024  # bytes of a report


class CodeReport(Document, frozen=True):
    """Result of a task's tests on a plan's code, and of linting the code.

    Attributes:
        passed: reference tests that passed, at most `total`.
        total: reference tests, whether or not they were reached.
        findings: of the linter.
    """

    passed: Annotated[int, Meta(ge=0, le=MAX_TESTS)]
    total: Annotated[int, Meta(ge=0, le=MAX_TESTS)]
    findings: Annotated[int, Meta(ge=0, le=MAX_LINT_FINDINGS)]

    def __post_init__(self) -> None:
        if self.passed > self.total:
            raise ValueError(f"`passed` is {self.passed}, more than `total`, {self.total}")


def parse_code_report(data: bytes) -> CodeReport:
    """Return the report in `data`.

    Raises:
        JsonError: not a report, or longer than `MAX_CODE_REPORT`; the text names the field.
    """
    return decode(data, CodeReport, limit=MAX_CODE_REPORT)


Count = Annotated[int, Meta(ge=0, le=MAX_SAFE_INTEGER)]
Amount = Annotated[float, Meta(ge=0)]
Limit = Annotated[float, Meta(gt=0)]  # a limit of 0 or less is a bad task (D-12)


class WorkflowRun(Document, frozen=True):
    """Measurements of one run; `total_steps` is the larger of the plan's steps and the task's required_steps."""

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


Moment = Annotated[float, Meta(ge=0)]  # seconds since the run began


class StepOutput(Document, frozen=True):
    """Output of a step: text (16 KiB), code (64 KiB), data (16 KiB of canonical JSON); null if absent.

    The canonical bytes of all three are at most `MAX_STEP_OUTPUT`, so that no run exceeds `MAX_RUN` (D-44).
    """

    text: OutputText | None
    code: Code | None
    data: Any


class StepRequest(Document, frozen=True):
    """The body of `POST …/v1/steps`. A service must not charge more than `max_cost_tao`."""

    run_id: Id
    node_id: str
    attempt: Annotated[int, Meta(ge=1)]
    service: str
    action: str
    params: dict[str, Any]
    max_cost_tao: Tao
    timeout_seconds: float


class StepAnswer(Document, frozen=True):
    """The response: which request it is for (sha256 of its body), what came out and what it costs, signed."""

    request_sha256: Hex32
    output: StepOutput
    cost_tao: Tao
    signature: Signature


class Attempt(Document, frozen=True):
    """One try of one step.

    Attributes:
        started: when it began.
        ended: when its answer was there, or it was given up.
        outcome: a reason that begins with `step_`.
        cost_tao: what it counts for.
        charged_tao: what the service's signed answer asked for, null without one.
        received: bytes of the answer's body.
        output_sha256: of the output's canonical bytes, null without one.
        detail: one harmless line about a failure.
    """

    started: Moment
    ended: Moment
    outcome: Reason
    cost_tao: Tao
    charged_tao: Tao | None
    received: Count
    output_sha256: Hex32 | None
    detail: Text

    def __post_init__(self) -> None:
        _require_known(self.outcome)


class StepRecord(Document, frozen=True):
    """End of one step: the last attempt's outcome, or the reason why there was none (`detail` says more)."""

    node_id: str
    outcome: Reason
    attempts: tuple[Attempt, ...]
    output: StepOutput | None
    detail: Text

    def __post_init__(self) -> None:
        _require_known(self.outcome)

    @property
    def completed(self) -> bool:
        """True if the step succeeded."""
        return self.outcome == Reason.STEP_SUCCEEDED


class RunRecord(Document, frozen=True):
    """Everything that was measured of one run, steps in the plan's order: what scores it again."""

    run_version: Literal["1.0"]
    run_id: Id
    goal_sha256: Hex32
    plan_sha256: Hex32
    ceiling_tao: Tao
    seconds: Moment
    steps: tuple[StepRecord, ...]


def run_id_of(task_id: str, hotkey: str) -> str:
    """Return the id under which services see the run of a miner's plan for a task; it names neither."""
    return sha256_hex(f"{task_id}|{hotkey}".encode())[:32]


def parse_step_answer(data: bytes) -> StepAnswer:
    """Return the answer in `data` (JsonError: not a step's answer, or over a limit; the text names the field)."""
    answer = decode(data, StepAnswer, limit=limits.MAX_STEP_BODY)
    check_output(answer.output)
    return answer


def check_output(output: StepOutput) -> None:
    """Hold an output to its sizes in bytes (SchemaError: naming the field)."""
    try:
        data, whole = len(canonical_bytes(output.data)), len(canonical_bytes(output))
    except NotCanonicalError as error:
        raise SchemaError(f"{error.detail} - at `output.data`") from None
    sizes = (
        ("output.text", len((output.text or "").encode()), limits.MAX_STEP_TEXT),
        ("output.code", len((output.code or "").encode()), limits.MAX_STEP_CODE),
        ("output.data", data, limits.MAX_STEP_DATA),
        ("output", whole, limits.MAX_STEP_OUTPUT),
    )
    for name, size, limit in sizes:
        if size > limit:
            raise SchemaError(f"{size} bytes, at most {limit} - at `{name}`")


def _require_known(outcome: Reason) -> None:
    if not outcome.known:  # a run that this program could not have made is not scored again by it
        raise ValueError(f"`{printable(outcome, 80)}` is no outcome that this version knows")
