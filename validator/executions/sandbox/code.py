"""Judging code: a plan's code and a task's tests in, a report or a named failure out (SPEC 12)."""

from dataclasses import dataclass, field
from typing import Protocol

from validator.executions.sandbox.job import SandboxFailure, SandboxLimits
from validator.protocol.code_report import CodeReport
from validator.protocol.limits import MIB
from validator.protocol.runtime_image import RuntimeImage


def code_limits() -> SandboxLimits:
    """Return the bounds on judging one plan's code; docs/miner-protocol.md promises them to planners."""
    return SandboxLimits(wall_s=60.0, memory=512 * MIB, scratch=64 * MIB, evidence=MIB)


@dataclass(frozen=True, slots=True)
class CodeJob:
    """One judging of code.

    Attributes:
        image: of the round that the code was made in.
        code: a stranger's, a Python module; not empty, at most 64 KiB.
        tests: the task's, a Python test module that imports the code as `solution`.
        limits: of the run.
    """

    image: RuntimeImage
    code: str
    tests: str
    limits: SandboxLimits = field(default_factory=code_limits)


class CodeSandbox(Protocol):
    """Judges strangers' code away from the host, any number at once."""

    async def start(self) -> SandboxFailure | None:
        """Remove what an earlier process left; return what keeps code from being judged, None if nothing does."""

    async def check(self, job: CodeJob) -> CodeReport | SandboxFailure:
        """Return what the tests and the linter found, or why they found nothing; nothing of the run remains.

        Whatever the code does is a report: code that hangs, dies or writes gigabytes passes fewer tests. A failure that
        is `ours` is tried again later; any other is the task's (`sandbox_tests`): its tests judge nobody's code.
        """

    async def close(self) -> None:
        """Free what it holds. Checks that go on must be cancelled before."""
