"""Benchmark of memory: a round of sixty attestations at their limit, an emoji in every text, from answer to log."""

import asyncio
import tempfile
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

from full_round import MOST_MIB, Peaks, full_round
from harness import Case

_WHAT = {
    "daemon": "the daemon",
    "processes": "the daemon with its workers",
    "replay": "replay",
    "export": "audit export",
    "verify": "audit verify",
}


def cases() -> Iterator[Case]:
    """Yield the peak of each process."""
    for name, most in MOST_MIB._asdict().items():
        yield Case(
            f"60 attestations of 192 KiB, an emoji in every text: {_WHAT[name]}",
            "MiB",
            partial(_peak, name),
            demand=f"≤ {most:,.0f}",
            runs=1,
            warm_up=0,
        )


def _peak(name: str) -> float:
    return float(getattr(_peaks(), name))


@cache
def _peaks() -> Peaks:
    with tempfile.TemporaryDirectory(prefix="memory") as folder:
        return asyncio.run(full_round(Path(folder)))
