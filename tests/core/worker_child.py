"""A worker process over a scripted sandbox: everything of `validator worker` but the container engine."""

import asyncio
import sys
from dataclasses import replace

from waiting_world import image as runs_bundle

from sssa.protocol.errors import ValidatorError
from sssa.protocol.workflow_run import CodeReport
from sssa.sources import SystemClock
from validator.daemon.signals import Signals
from validator.daemon.worker import Outfit, own_name, serve
from validator.sandbox.interface import SandboxJob
from validator.sandbox.scripted import ScriptedCheck, ScriptedCodeSandbox, ScriptedRun, ScriptedSandbox
from validator.telemetry import configure_logging


def main() -> None:
    """Arguments: the store's url, so many at the same time, the seconds of a run, the kinds of work."""
    url, concurrency, seconds, *kinds = sys.argv[1:]

    def image(job: SandboxJob) -> ScriptedRun:
        return replace(runs_bundle(job), seconds=float(seconds))

    signals = Signals()
    signals.listen()
    configure_logging("info", "json")
    sandbox = ScriptedSandbox(image, SystemClock())
    judge = ScriptedCodeSandbox(lambda _: ScriptedCheck(CodeReport(3, 4, 2), float(seconds)), SystemClock())
    code = judge if "code" in kinds else None
    try:
        sys.exit(
            asyncio.run(
                serve(
                    Outfit(own_name(), url, tuple(kinds), int(concurrency), sandbox, code=code, heartbeat_s=0.5),
                    signals,
                )
            )
        )
    except ValidatorError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
