"""Benchmark of archiving: rounds into an archive file and out of the store, and one of them read from there."""

from collections.abc import Iterator
from functools import partial

from harness import Case
from samples.archived_rounds import archived, archiving_s, reading_ms
from samples.played_rounds import ROUNDS, played


def cases() -> Iterator[Case]:
    """Yield the rate of archiving, what a file has per round, and what reading one costs."""
    there = archived()
    yield Case(
        "rounds archived, 60 answers each: written, read back, removed",
        "rounds/s",
        lambda: ROUNDS / archiving_s(),
        runs=5,
    )
    yield Case(
        "an archived round of 60 answers, in its file",
        "KB",
        partial(float, there.file.size / ROUNDS / 1_000),
        runs=1,
        warm_up=0,
    )
    yield Case(
        "what came back in an archived round",
        "ms",
        partial(reading_ms, there.url, there.folder),
        partial(reading_ms, played()),
        "the same from the store",
        runs=9,
    )
