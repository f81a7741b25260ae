"""Benchmark of the audit log: rounds written as a file, and the file verified."""

import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from harness import Case, per_second
from samples.played_rounds import ROUNDS, exported, played

from sssa.log.verify import verify_file


def cases() -> Iterator[Case]:
    """Yield export and verification."""
    url = played()
    yield Case(
        "rounds exported, 60 answers each",
        "rounds/s",
        per_second(partial(exported, url), of=ROUNDS, clock=time.process_time),
        demand="≥ 100",
        runs=5,
    )
    with tempfile.TemporaryDirectory(prefix="log") as folder:
        log = Path(folder) / "log.jsonl"
        log.write_bytes(exported(url))
        yield Case(
            "rounds verified, 60 answers each",
            "rounds/s",
            per_second(partial(verify_file, log), of=ROUNDS),
            demand="≥ 40",
            runs=5,
        )
