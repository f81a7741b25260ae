"""Check of the sandboxes' engine at start, repeated every 30 s until the engine is fit.

It removes containers that an earlier process left, and sets the conditions `sandbox_away`, `sandbox_image`,
`sandbox_slow` and `code_waits`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import structlog

from sssa.protocol.reasons import Reason
from sssa.sources import Clock
from validator.sandbox.interface import CodeSandbox, Evidence, Sandbox, SandboxFailure
from validator.telemetry import Event
from validator.telemetry.repetition import Once, place_of
from validator.telemetry.reports import Reports

_AGAIN_S: Final = 30.0
_CONDITIONS: Final = {
    Reason.SANDBOX_NO_ENGINE: "sandbox_away",
    Reason.SANDBOX_UNSUITABLE: "sandbox_away",
    Reason.SANDBOX_ENGINE: "sandbox_away",
    Reason.SANDBOX_IMAGE: "sandbox_image",
    Reason.SANDBOX_SLOW: "sandbox_slow",
}
_log = structlog.get_logger()


def note_engine(board: Reports, result: Evidence | SandboxFailure | None) -> None:
    """Raise the condition that a run, or a look at the engine, shows; clear the others. None: the engine is fit."""
    shown = _CONDITIONS.get(result.reason) if isinstance(result, SandboxFailure) else None
    for condition in sorted(set(_CONDITIONS.values())):
        board.mark(condition, result.detail if condition == shown and isinstance(result, SandboxFailure) else None)


def note_code(board: Reports, result: SandboxFailure | None) -> None:
    """Raise the condition that code waits for the engine, or clear it."""
    board.mark("code_waits", f"{result.reason} {result.detail}" if result is not None and result.ours else None)


@dataclass(slots=True)
class SandboxWatch:
    """A look at the engine at the start, before anything waits; a service of the daemon."""

    sandbox: Sandbox | CodeSandbox
    clock: Clock
    board: Reports
    note: Callable[[Reports, SandboxFailure | None], None] = note_engine
    _logged: Once = field(init=False)

    def __post_init__(self) -> None:
        self._logged = Once(self.clock)

    async def run(self) -> None:
        """Check the engine until it is fit."""
        while not await self.fit():
            await self.clock.sleep(_AGAIN_S)

    async def fit(self) -> bool:
        """Check the engine and update the conditions; an internal error is logged once per change."""
        try:
            failure = await self.sandbox.start()
        except Exception as error:  # noqa: BLE001 - the engine may yet come
            repeats = self._logged.fresh(place_of(error))
            if repeats is not None:
                _log.exception(Event.WORK_FAILED, reason=Reason.BUG_INTERNAL, repeats=repeats)
            return False
        self.note(self.board, failure)
        return failure is None
