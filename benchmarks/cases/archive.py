"""Rounds into an archive file and out of the store, and one of them read from there."""

from collections.abc import Iterator
from functools import partial

from harness import Case
from samples.archived import archived, archiving_s, packing_s, reading_ms
from samples.played import ROUNDS, played


def cases() -> Iterator[Case]:
    """Yield the rate of archiving, what a file has per round, and what reading the first of a block costs."""
    there = archived()
    yield Case(
        "rounds archived, 60 answers each: written, read back, removed",
        "rounds/s",
        lambda: ROUNDS / archiving_s(),
        lambda: ROUNDS / packing_s(),
        "packing its sections alone",
        runs=5,
    )
    yield Case(
        "an archived round of 60 answers, in its file",
        "KB",
        partial(float, there.file.bytes / ROUNDS / 1_000),
        runs=1,
        warm_up=0,
    )
    yield Case(
        f"what came back in an archived round, read with its block of {ROUNDS}",
        "ms",
        partial(reading_ms, there.url, there.folder),
        partial(reading_ms, played()),
        "the same from the store, folded",
        runs=9,
    )
