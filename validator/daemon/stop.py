"""Requests to stop: the first asks, the second insists."""

import asyncio
import signal
from types import FrameType


class Stop:
    """Two events: `asked` lets the round in hand finish, `at_once` does not."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.at_once = asyncio.Event()

    def request(self) -> None:
        """Ask, or insist when asked before."""
        (self.at_once if self.asked.is_set() else self.asked).set()

    def listen(self) -> None:
        """Take SIGTERM and SIGINT of this process as requests, from within the running event loop."""
        loop = asyncio.get_running_loop()

        def handle(_number: int, _frame: FrameType | None) -> None:
            loop.call_soon_threadsafe(self.request)

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, handle)
