"""Exit codes of the `validator` command. Those of a fatal condition have number and words from the catalogue."""

from enum import IntEnum
from typing import Final, Self

from validator.health.catalogue import FATAL


def _fatal(name: str) -> tuple[int, str, str]:
    """Return code, meaning and advice of a fatal condition."""
    one = FATAL[name]
    return one.exit_code, one.meaning, one.advice


class Exit(IntEnum):
    """An exit code. docs/reference/conditions.md lists them.

    Attributes:
        advice: what to do; empty where there is nothing to do.
    """

    meaning: str
    advice: str

    def __new__(cls, code: int, meaning: str = "", advice: str = "") -> Self:
        """Make a member from its number, meaning and advice."""
        member = int.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        member.advice = advice
        return member

    @property
    def parks(self) -> bool:
        """True if a restart would end the same way; the image's entry point then waits (`contained`)."""
        return self in _PARKS

    FINE = 0, "Done; the daemon: the round in hand was finished."
    NO = 1, "The answer is no: problems found, nothing there."
    INPUT = _fatal("settings_refused")
    NOT_READY = _fatal("not_ready")
    CUT_OFF = 4, "Stopped before the round in hand could finish, or all of it be closed; the next start resumes it."
    NOT_STARTED = (
        5,
        "Asked to stop before the start was complete: no round was begun. The signal itself may end it (143, 130).",
    )
    LOOK = 6, "Nothing keeps it from its work, and somebody should look: warnings.", "What the lines say."
    ENDPOINT = _fatal("chain_unreachable")
    HOTKEY_MISSING = _fatal("hotkey_missing")
    HOTKEY_ENCRYPTED = _fatal("hotkey_encrypted")
    NOT_REGISTERED = _fatal("not_registered")
    NO_SUBNET = _fatal("no_subnet")
    WEIGHTS_LOCKED = _fatal("weights_locked")
    STORE_IN_USE = _fatal("store_in_use")
    STORE_DAMAGED = _fatal("store_lost")
    OTHER_STORE = _fatal("other_store")


_PARKS: Final = frozenset(Exit(one.exit_code) for one in FATAL.values() if one.parks)
