"""Cost of a growing log: memory and time of `audit verify`, and the bytes of weights and of raw digests.

Run `make bench-log`; `LOG_ROUNDS` says how many rounds the longest log has: five miners, two tasks a round, seven
rounds and a vector an epoch. Logs of a sixteenth, a quarter and all of it are verified, each in its own process.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

sys.path += [str(Path(__file__).parents[1] / "tests" / "core")]

from audit_file import export, lines_of
from pay_world import PayWorld
from samples.silent_log import drop_log
from world import VALIDATOR

from validator.protocol.canonical import canonical_bytes
from validator.rounds.receipts import close_epoch
from validator.store import open_store

ROUNDS_AN_EPOCH: Final = 7  # one in ten minutes, epochs of 72
YEAR: Final = 52_560
MIB: Final = 1024 * 1024
START: Final = b'{"receipt":'
VERIFY: Final = """
import json, sys, time
from pathlib import Path
from validator.audit.log.verify import verify_file
begun = time.perf_counter()
found = verify_file(Path(sys.argv[1]))
seconds = time.perf_counter() - begun
status = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
peak = int(status["VmHWM"].split()[0]) * 1024
print(json.dumps({"rounds": sum(found.rounds.values()), "seconds": seconds, "peak": peak}))
"""


def main() -> None:
    """Make the logs, verify them and print what it took."""
    rounds = int(os.environ.get("LOG_ROUNDS", "1600"))
    drop_log()
    with tempfile.TemporaryDirectory(prefix="log") as name:
        folder = Path(name)
        whole, stored = asyncio.run(_played(folder, rounds))
        lines = lines_of(whole)
        _print_bytes(lines, stored)
        ends = [*(i for i, line in enumerate(lines) if line.startswith(START)), len(lines)][1:]
        print(f"{'rounds':>8} {'log MiB':>8} {'peak MiB':>9} {'rounds/s':>9}")
        measured = [_verified(folder, lines[: ends[len(ends) * part // 16 - 1]]) for part in (1, 4, 16)]
        (few, peak_few), (many, peak_many) = measured[1], measured[2]
        slope = (peak_many - peak_few) / (many - few)
        print(f"memory grows by {slope:.0f} bytes a round: {slope * YEAR / MIB:.0f} MiB a year")


async def _played(folder: Path, rounds: int) -> tuple[bytes, int]:
    """Return a log of so many rounds, and what the store of it takes."""
    file = folder / "store.sqlite"
    async with open_store(f"sqlite:///{file}", create=True) as store:
        pay = PayWorld(store)
        for _ in range(max(2, rounds // ROUNDS_AN_EPOCH)):
            await pay.rounds(ROUNDS_AN_EPOCH)
            await pay.vector()
        await close_epoch(store, VALIDATOR, pay.world.clock)
        data = (await export(store, folder / "whole.jsonl")).read_bytes()
    return data, file.stat().st_size


def _print_bytes(lines: list[bytes], stored: int) -> None:
    """Print what weights and raw digests take of a store, and of a log."""
    sizes: Counter[str] = Counter()
    rounds = 0
    for line in lines:
        kind = line[2 : line.index(b'"', 2)].decode()
        sizes[kind] += len(line)
        document: dict[str, Any] = json.loads(line)[kind]
        if kind == "receipt":
            rounds += document["round"] is not None
            sizes["links"] += len(line) if document["kind"] in {"weights", "fate"} else 0
        if kind == "answers":
            sizes["raw digests"] += _raw(document)
    weights = sizes["weights"] + sizes["links"]
    log = sum(map(len, lines))
    print(f"{rounds} rounds: a store of {stored / rounds:.0f} bytes a round, a log of {log / rounds:.0f}")
    for name, size in (("weights: links and lines", weights), ("digests of raw answers", sizes["raw digests"])):
        shares = f"{size / stored:.2%} of the store, {size / log:.2%} of the log"
        print(f"{name}: {size / rounds:.0f} bytes a round, {shares}")


def _raw(document: Mapping[str, Any]) -> int:
    without = {name: value for name, value in document.items() if name != "raw"}
    return len(canonical_bytes(document)) - len(canonical_bytes(without))


def _verified(folder: Path, lines: list[bytes]) -> tuple[int, int]:
    data = b"".join(lines)
    found = _run(folder, data)
    rounds, seconds, peak = found["rounds"], found["seconds"], found["peak"]
    print(f"{rounds:>8} {len(data) / MIB:>8.1f} {peak / MIB:>9.1f} {rounds / seconds:>9.1f}")
    return rounds, peak


def _run(folder: Path, data: bytes) -> dict[str, Any]:
    log = folder / "log.jsonl"
    log.write_bytes(data)
    command = [sys.executable, "-c", VERIFY, str(log)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    main()
