"""The exit codes of the `validator` command: the one place that gives them numbers and meanings."""

from enum import IntEnum
from typing import Final, Self


class Exit(IntEnum):
    """An exit code. docs/reference/exit-codes.md is made from this.

    Attributes:
        meaning: one line.
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
        """Whether a restart ends the same way: the image's entry point waits with it to be asked to (`contained`)."""
        return self in _PARKS

    FINE = 0, "Done; the daemon: the round in hand was finished."
    NO = 1, "The answer is no: problems found, nothing there."
    INPUT = 2, "Bad input, usage or settings.", "Correct what the reason names."
    NOT_READY = 3, "The store or the environment is not ready.", "The line says what is missing."
    CUT_OFF = 4, "Stopped before the round in hand could finish, or all of it be closed; the next start resumes it."
    NOT_STARTED = (
        5,
        "Asked to stop before the start was complete: no round was begun. The signal itself may end it (143, 130).",
    )
    LOOK = 6, "Nothing keeps it from its work, and somebody should look: warnings.", "What the lines say."
    ENDPOINT = (
        10,
        "No chain answers at `chain.endpoints`, or what answers is no subtensor.",
        "Check name, port, ws or wss, and the firewall; name a second endpoint.",
    )
    HOTKEY_MISSING = (
        11,
        "The hotkey's file is not there.",
        "Check wallet.path, wallet.name and wallet.hotkey, and in a container what is mounted and who may read it.",
    )
    HOTKEY_ENCRYPTED = (
        12,
        "The hotkey's file is encrypted, and no password unlocks it.",
        "Write its password into a file and name that in wallet.password_file.",
    )
    NOT_REGISTERED = (
        13,
        "The hotkey is not registered on the subnet.",
        "Register it, or correct wallet.hotkey or validator.netuid.",
    )
    NO_SUBNET = (
        14,
        "The chain has no subnet of this netuid.",
        "Correct validator.netuid or chain.endpoints.",
    )
    WEIGHTS_LOCKED = (
        15,
        "Weights are locked: something else seems to send them with this hotkey.",
        "Stop the other program, wait for its weights on chain, then `validator weights unlock`.",
    )
    STORE_IN_USE = (
        16,
        "Another validator writes to the store.",
        "Stop one of the two; do not delete the lock file.",
    )
    STORE_DAMAGED = (
        17,
        "The store is damaged, or its path no longer leads to it.",
        "Put a moved file back with its -wal and -shm, else restore the newest backup.",
    )
    OTHER_CHAIN = (
        18,
        "The store belongs to another chain or subnet than the settings name.",
        "Correct validator.netuid or chain.endpoints, or name a new database in store.url.",
    )


_PARKS: Final = frozenset(
    {
        Exit.INPUT,
        Exit.HOTKEY_MISSING,
        Exit.HOTKEY_ENCRYPTED,
        Exit.NOT_REGISTERED,
        Exit.NO_SUBNET,
        Exit.WEIGHTS_LOCKED,
        Exit.STORE_IN_USE,
        Exit.OTHER_CHAIN,
    }
)
