"""Sandboxes without an engine, for simulation and tests: a callable returns the result, and time passes on a clock."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import msgspec

from sssa.protocol.reasons import Reason
from sssa.protocol.workflow_run import CodeReport
from sssa.sources import Clock
from validator.sandbox.interface import CodeJob, Ended, Evidence, SandboxFailure, SandboxJob

_KILLED = 137


@dataclass(frozen=True, slots=True)
class ScriptedRun:
    """Behavior of a scripted run."""

    files: dict[str, bytes]
    seconds: float = 0.0
    exit_code: int = 0
    log: bytes = b""


Script = Callable[[SandboxJob], ScriptedRun | SandboxFailure]


class ScriptedSandbox:
    """A `Sandbox` that follows a script; wall time and sizes hold as in a container."""

    def __init__(self, script: Script, clock: Clock) -> None:
        self._script = script
        self._clock = clock

    async def start(self) -> SandboxFailure | None:
        """Do nothing: there is nothing to remove, and nothing keeps the script from being followed."""
        return None

    async def run(self, job: SandboxJob) -> Evidence | SandboxFailure:
        """Ask the script."""
        outcome = self._script(job)
        if isinstance(outcome, SandboxFailure):
            return outcome
        await self._clock.sleep(min(outcome.seconds, job.limits.wall_s))
        total = sum(map(len, outcome.files.values()))
        if total > job.limits.evidence or len(outcome.files) >= job.limits.entries:
            return SandboxFailure(Reason.SANDBOX_EVIDENCE, f"{len(outcome.files)} files of {total} bytes together")
        log = outcome.log[: job.limits.log]
        evidence = Evidence(outcome.files, Ended.BY_ITSELF, outcome.exit_code, outcome.seconds, log)
        if outcome.seconds <= job.limits.wall_s:
            return evidence
        return replace(evidence, ended=Ended.OUT_OF_TIME, exit_code=_KILLED, seconds=job.limits.wall_s)

    async def close(self) -> None:
        """Do nothing: there is nothing to free."""


@dataclass(frozen=True, slots=True)
class ScriptedCheck:
    """Result of a scripted check: the report, and the duration of its tests; tests that are too slow all fail."""

    report: CodeReport
    seconds: float = 0.0


CodeScript = Callable[[CodeJob], ScriptedCheck | SandboxFailure]


class ScriptedCodeSandbox:
    """A `CodeSandbox` that follows a script; wall time holds as in a container."""

    def __init__(self, script: CodeScript, clock: Clock) -> None:
        self._script = script
        self._clock = clock

    async def start(self) -> SandboxFailure | None:
        """Do nothing: nothing keeps the script from being followed."""
        return None

    async def check(self, job: CodeJob) -> CodeReport | SandboxFailure:
        """Ask the script."""
        outcome = self._script(job)
        if isinstance(outcome, SandboxFailure):
            return outcome
        await self._clock.sleep(min(outcome.seconds, job.limits.wall_s))
        if outcome.seconds <= job.limits.wall_s:
            return outcome.report
        return msgspec.structs.replace(outcome.report, passed=0)

    async def close(self) -> None:
        """Do nothing: there is nothing to free."""
