"""Run `python -m peers`: calls of ours, of bittensor 10's dendrite and of bare aiohttp, by turns, to one stand-in.

The dendrite runs in its own environment. It neither bounds what it reads nor stores it; it keeps connections.
"""

import asyncio
import gc
import os
import subprocess
import sys
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Final

from samples.calls import BODY, Turn, axons, bare, ours
from samples.stand_in import many_descriptors

_SCRIPT: Final = Path(__file__).with_name("dendrite_calls.py")
_HEADINGS: Final = "| calls at once | who | /s | CPU of each, µs | beyond the slowest answer, ms |"
_RUNS: Final = {60: 11, 300: 5, 1_000: 3}


class Dendrite:
    """A process of that Python, which makes calls on request."""

    def __init__(self, python: str) -> None:
        ports = [str(axon.port) for axon in axons()]
        command = [python, str(_SCRIPT), str(len(BODY)), *ports]
        own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=own)
        self.name = self._line()

    def turn(self, many: int) -> Turn:
        """Let it make so many calls at once."""
        if self._process.stdin is None:
            raise RuntimeError("it has no standard input")
        print(many, file=self._process.stdin, flush=True)
        return Turn(*map(float, self._line().split()))

    def close(self) -> None:
        """End it."""
        self._process.communicate()

    def _line(self) -> str:
        line = self._process.stdout.readline() if self._process.stdout else ""
        if not line:
            raise RuntimeError("the dendrite's process ended")
        return line.strip()


def main(python: str) -> None:
    """Measure, and print a table of medians."""
    many_descriptors()
    dendrite = Dendrite(python)
    print(f"{_HEADINGS}\n|{' --- |' * (_HEADINGS.count('|') - 1)}")
    for many, runs in _RUNS.items():
        by_turns: dict[str, Callable[[], Turn]] = {
            "ours": partial(_run, partial(ours, many)),
            dendrite.name: partial(dendrite.turn, many),
            "bare aiohttp, fresh": partial(_run, partial(bare, many)),
            "bare aiohttp, kept": partial(_run, partial(bare, many, keep=True)),
        }
        played: dict[str, list[Turn]] = {name: [] for name in by_turns}
        for _ in range(1 + runs):
            for name, play in by_turns.items():
                gc.collect()
                played[name].append(play())
        for name, turns in played.items():
            rate, cpu, beyond = (median(figure) for figure in zip(*turns[1:], strict=True))
            print(f"| {many:,} | {name} | {rate:,.0f} | {cpu:,.0f} | {beyond:,.0f} |", flush=True)
    dendrite.close()


def _run(play: Callable[[], Coroutine[Any, Any, Turn]]) -> Turn:
    return asyncio.run(play())


if __name__ == "__main__":
    main(sys.argv[1])
