"""Every target of outside bytes, fuzzed for some processor seconds: a table, and findings."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.progress import track
from rich.table import Table

from fuzz.targets import TARGETS

_PATIENCE_S: Final = 300  # to import, make seeds and end, beyond the time of fuzzing
_SHARE: Final = 0.02  # of a processor that a busy machine leaves, at least


def fuzzed(name: str, seconds: float, inputs: Path | None) -> dict[str, Any]:
    """Return the report of one target, fuzzed in its own process: it may hang, or take all memory."""
    tests = Path(__file__).parents[1]
    path = os.pathsep.join(map(str, (tests, tests / "core", tests.parent)))
    patience_s = seconds / _SHARE + _PATIENCE_S
    with tempfile.TemporaryDirectory(prefix="fuzz") as folder:
        place = (inputs or Path(folder)) / name.replace(" ", "-")
        command = [sys.executable, "-m", "fuzz.engine", name, str(seconds), str(place)]
        environ = os.environ | {"PYTHONPATH": path, "TMPDIR": folder}
        try:
            done = subprocess.run(command, env=environ, capture_output=True, timeout=patience_s, check=False)
        except subprocess.TimeoutExpired:
            return {"target": name, "inputs": 0, "found": {"an input without an end": "not kept"}, "guided": True}
    said = [line for line in done.stdout.splitlines() if line.startswith(b"{")]
    if not said:
        return {"target": name, "inputs": 0, "found": {done.stderr.decode()[-300:]: "not kept"}, "guided": True}
    report: dict[str, Any] = json.loads(said[-1])
    return report


def reports(names: list[str], seconds: float, jobs: int, inputs: Path | None) -> Iterator[dict[str, Any]]:
    """Yield the report of each target."""
    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(lambda name: fuzzed(name, seconds, inputs), names)


def main() -> int:
    """Fuzz; exit with 1 where anything was found."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=30, help="of a processor, for each target")
    parser.add_argument("--only", action="append", choices=list(TARGETS), help="a target; all without it")
    parser.add_argument("--jobs", type=int, default=1, help="targets at a time")
    parser.add_argument("--inputs", type=Path, help="a folder that keeps inputs which reach new code, for the next run")
    chosen = parser.parse_args()
    names, console = chosen.only or list(TARGETS), Console(stderr=True)
    ended = list(
        track(
            reports(names, chosen.seconds, chosen.jobs, chosen.inputs and chosen.inputs.absolute()),
            "fuzzing",
            len(names),
            console=console,
            transient=True,
        )
    )
    table = Table("target", "inputs", "by coverage", "findings")
    for one in ended:
        found = "\n".join(f"{kind}\n  {file}" for kind, file in one["found"].items())
        table.add_row(one["target"], f"{one['inputs']:,}", "yes" if one["guided"] else "no", found or "none")
    Console().print(table)
    return int(any(one["found"] for one in ended))


if __name__ == "__main__":
    sys.exit(main())
