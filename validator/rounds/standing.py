"""What the subnet holds of this validator, and whether rounds run without a permit."""

from collections.abc import Callable
from typing import Final, Literal

import structlog

from validator.protocol.errors import ValidatorError
from validator.protocol.reasons import Reason
from validator.protocol.round import MetagraphSnapshot
from validator.telemetry import Event

WithoutPermit = Literal["run", "pause"]
_PAUSED: Final = {True: "paused", False: "run"}
_log = structlog.get_logger()


class RoundsPausedError(ValidatorError):
    """The hotkey lacks registration or permit, and the settings say that rounds wait for it."""


class Standing:
    """Looks at this validator's own registration and permit in every snapshot; says each change once.

    Args:
        hotkey: the validator's.
        without_permit: what rounds do while one of the two is missing.
        tell: told after every look what is missing (None: nothing) and whether rounds are paused.
    """

    def __init__(
        self,
        hotkey: str,
        without_permit: WithoutPermit = "run",
        tell: Callable[[Reason | None, bool], None] | None = None,
    ) -> None:
        self._hotkey = hotkey
        self._pause = without_permit == "pause"
        self._tell = tell
        self._missing: Reason | None = None

    def check(self, snapshot: MetagraphSnapshot) -> None:
        """Note how things stand.

        Raises:
            RoundsPausedError: no round may begin on this snapshot.
        """
        missing = missing_of(snapshot, self._hotkey)
        paused = self._pause and missing is not None
        if missing != self._missing:
            self._missing = missing
            if missing is None:
                _log.info(Event.STANDING_BACK, block=snapshot.block)
            else:
                _log.warning(Event.STANDING_LOST, block=snapshot.block, reason=str(missing), rounds=_PAUSED[paused])
        if self._tell is not None:
            self._tell(missing, paused)
        if paused:
            raise RoundsPausedError(str(missing))


def missing_of(snapshot: MetagraphSnapshot, hotkey: str) -> Reason | None:
    """Return what the hotkey lacks to set weights as a validator, None if nothing. Pure."""
    me = snapshot.by_hotkey(hotkey)
    if me is None:
        return Reason.WEIGHTS_NOT_REGISTERED
    return None if me.validator_permit else Reason.WEIGHTS_NO_PERMIT
