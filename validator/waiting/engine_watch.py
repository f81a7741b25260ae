"""Whether the sandboxes' engine is there: what the conditions `sandbox_away` and `code_waits` follow."""

from dataclasses import dataclass, field
from typing import Final

import structlog

from validator.protocol.reasons import Reason
from validator.sandbox.interface import CodeSandbox, Evidence, Sandbox, SandboxFailure
from validator.sources import Clock
from validator.telemetry import Event
from validator.telemetry.repetition import Once, place_of
from validator.telemetry.reports import Reports

_AGAIN_S: Final = 30.0
_CONDITIONS: Final = {
    Reason.SANDBOX_NO_ENGINE: "sandbox_away",
    Reason.SANDBOX_UNFIT: "sandbox_away",
    Reason.SANDBOX_ENGINE: "sandbox_away",
    Reason.SANDBOX_IMAGE: "sandbox_image",
    Reason.SANDBOX_SLOW: "sandbox_slow",
}
_log = structlog.get_logger()


def note_engine(board: Reports, found: Evidence | SandboxFailure) -> None:
    """Raise the condition that the result of a run shows of the engine, and clear the others."""
    shown = _CONDITIONS.get(found.reason) if isinstance(found, SandboxFailure) else None
    for condition in sorted(set(_CONDITIONS.values())):
        if condition == shown and isinstance(found, SandboxFailure):
            board.raise_(condition, found.detail)
        else:
            board.clear(condition)


@dataclass(slots=True)
class SandboxWatch:
    """Tells at the start, before anything waits, whether the engine is there; a service of the daemon.

    Args:
        sandbox, clock: what it looks at, and when.
        board: told.
        condition: that stands while the sandbox does not run.
    """

    sandbox: Sandbox | CodeSandbox
    clock: Clock
    board: Reports
    condition: str = "sandbox_away"
    _said: Once = field(init=False)

    def __post_init__(self) -> None:
        self._said = Once(self.clock)

    async def run(self) -> None:
        """Look until the engine is there."""
        while not await self.fit():
            await self.clock.sleep(_AGAIN_S)

    async def fit(self) -> bool:
        """Look, and tell the board; an error of ours is said once per change."""
        try:
            failure = await self.sandbox.start()
        except Exception as error:  # noqa: BLE001 - the engine may yet come
            repeats = self._said.fresh(place_of(error))
            if repeats is not None:
                _log.exception(Event.WORK_FAILED, reason=Reason.BUG_INTERNAL, repeats=repeats)
            return False
        if failure is None:
            self.board.clear(self.condition)
            return True
        self.board.raise_(self.condition, failure.detail)
        return False
