"""Judging a run's result by its task's reference (SPEC 12)."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from validator.protocol.errors import ValidatorError
from validator.protocol.reasons import Reason
from validator.protocol.workflow_run import StepOutput
from validator.protocol.workflow_task import WorkflowTask
from validator.scoring import Version


class SandboxUnavailableError(ValidatorError):
    """There is no sandbox that untrusted code could be run in."""


@dataclass(frozen=True, slots=True)
class CodeReport:
    """What a sandbox found.

    Attributes:
        passed: reference tests that passed.
        total: reference tests.
        findings: of the linter.
    """

    passed: int
    total: int
    findings: int


class CodeSandbox(Protocol):
    """Runs a stranger's code against a task's tests, away from the host."""

    async def check(self, code: str, tests: str) -> CodeReport:
        """Return what came of running `tests` against `code` as module `solution`, and of linting it.

        Raises:
            SandboxUnavailableError: nothing can be run now; ask again later.
        """


class NoSandbox:
    """Refuses: untrusted code is never run on the host."""

    async def check(self, code: str, tests: str) -> CodeReport:
        """Refuse.

        Raises:
            SandboxUnavailableError: always.
        """
        raise SandboxUnavailableError(f"{len(code)} characters of code and {len(tests)} of tests are kept for later")


class Quality(NamedTuple):
    """A quality in [0, 1]; None when it is deferred, `reason` then says so."""

    value: float | None
    reason: Reason
    detail: str = ""


async def judge_output(
    version: Version, task: WorkflowTask, output: StepOutput | None, sandbox: CodeSandbox
) -> Quality:
    """Return how good the result of a run is; 0 without a result.

    Args:
        version: the round's.
        task: its type picks the rule, its reference the measure.
        output: see `result_of`.
        sandbox: for code, which is judged nowhere else.
    """
    value = version.read_quality(task, output)
    if output is None or value is not None:
        detail = "no result" if output is None else "no code" if task.type == "code" else ""
        return Quality(value, Reason.QUALITY_JUDGED, detail)
    try:
        report = await sandbox.check(version.code_of(output), task.reference.given("tests"))
    except SandboxUnavailableError as error:
        return Quality(None, Reason.QUALITY_DEFERRED, error.detail)
    return Quality(version.code_quality(report.passed, report.total, report.findings), Reason.QUALITY_JUDGED)
