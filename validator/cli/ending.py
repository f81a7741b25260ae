"""How commands end that would leave something behind."""

import signal
from types import FrameType
from typing import NoReturn


def clean_at_sigterm() -> None:
    """Let SIGTERM end this process as Ctrl-C does: tools that run are killed, and nothing is left of what was begun."""
    signal.signal(signal.SIGTERM, _ended)


def _ended(number: int, _: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)
