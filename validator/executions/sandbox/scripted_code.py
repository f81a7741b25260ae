"""A code sandbox without an engine: what a check comes to follows from a callable, time from a clock."""

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from validator.executions.sandbox.code import CodeJob
from validator.executions.sandbox.job import SandboxFailure
from validator.protocol.code_report import CodeReport
from validator.sources import Clock


@dataclass(frozen=True, slots=True)
class ScriptedCheck:
    """What a scripted check comes to: the report, and how long its tests take; none has passed of tests too slow."""

    report: CodeReport
    seconds: float = 0.0


CodeScript = Callable[[CodeJob], ScriptedCheck | SandboxFailure]


class ScriptedCodeSandbox:
    """A `CodeSandbox` that follows a script; wall time holds as in a container.

    Args:
        script: decides every check, when it starts.
        clock: time passes on it.
    """

    def __init__(self, script: CodeScript, clock: Clock) -> None:
        self._script = script
        self._clock = clock

    async def start(self) -> SandboxFailure | None:
        """Do nothing: nothing keeps the script from being followed."""
        return None

    async def check(self, job: CodeJob) -> CodeReport | SandboxFailure:
        """Ask the script."""
        found = self._script(job)
        if isinstance(found, SandboxFailure):
            return found
        await self._clock.sleep(min(found.seconds, job.limits.wall_s))
        if found.seconds <= job.limits.wall_s:
            return found.report
        return msgspec.structs.replace(found.report, passed=0)

    async def close(self) -> None:
        """Do nothing: there is nothing to free."""
