"""Exit codes of the `validator` command. Those of a fatal condition take number and text from the catalogue."""

from collections.abc import Mapping
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

# Named, not imported: the store and the chain take longer to import than most commands to run.
_OF_ERRORS: Final[Mapping[str, Exit]] = {
    "builtins.OSError": Exit.NOT_READY,
    "validator.chain.interface.ChainError": Exit.NOT_READY,
    "validator.chain.interface.ChainUnreachableError": Exit.ENDPOINT,
    "validator.chain.interface.NoSubnetError": Exit.NO_SUBNET,
    "validator.chain.interface.NotRegisteredError": Exit.NOT_REGISTERED,
    "validator.chain.interface.OtherChainError": Exit.OTHER_STORE,
    "validator.chain.wallet.HotkeyEncryptedError": Exit.HOTKEY_ENCRYPTED,
    "validator.chain.wallet.HotkeyMissingError": Exit.HOTKEY_MISSING,
    "validator.chain.wallet.HotkeyPasswordError": Exit.HOTKEY_ENCRYPTED,
    "validator.chain.wallet.WalletError": Exit.NOT_READY,
    "validator.daemon.signals.StoppedAtStartError": Exit.NOT_STARTED,
    "validator.waiting.life_cycle.QueueError": Exit.NOT_READY,
    "validator.waiting.life_cycle.QueueSettingsError": Exit.INPUT,
    "sssa.scoring.versions.UnknownScoringVersionError": Exit.NOT_READY,
    "validator.store.errors.EmptyReasonError": Exit.INPUT,
    "validator.store.errors.OtherStoreError": Exit.OTHER_STORE,
    "validator.store.errors.StoreDamagedError": Exit.STORE_DAMAGED,
    "validator.store.errors.StoreError": Exit.NOT_READY,
    "validator.store.errors.StoreLockLostError": Exit.STORE_IN_USE,
    "validator.store.errors.StoreLockedError": Exit.STORE_IN_USE,
    "validator.store.errors.StoreUrlError": Exit.INPUT,
    "validator.store.errors.UnstorableError": Exit.INPUT,
    "validator.tasks.source.TaskSourceError": Exit.NOT_READY,
    "validator.weights.watch.WeightsLockedError": Exit.WEIGHTS_LOCKED,
}


def exit_code(error: Exception) -> Exit:
    """Return the exit code for an error that a command ends with: that of its nearest class in the table."""
    names = (f"{kind.__module__}.{kind.__qualname__}" for kind in type(error).__mro__)
    return next((_OF_ERRORS[name] for name in names if name in _OF_ERRORS), Exit.INPUT)
