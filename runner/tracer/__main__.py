"""The image's program for bundles: `python -m tracer` in a sandbox; writes the evidence folder (SPEC 15)."""

import asyncio
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from code_runner.confine import clear, keep_others_out, kill_all_others

from tracer.records import Probes, Records, trace_files
from tracer.run import trace_bundle

RUN_S: Final = 60.0
_SHARE: Final = 0.75  # of a sandbox that gives less time; the rest is for starting and ending


def traced(environment: Mapping[str, str]) -> Records:
    """Run the bundle that the variables name, or the probes alone, and return the traces."""
    bundle = environment["SSSA_BUNDLE"]
    probe = Probes(*(environment[f"SSSA_PROBE_{name.upper()}"] for name in Probes._fields))
    timeout_s = min(RUN_S, float(environment["SSSA_SECONDS"]) * _SHARE)
    files = read_files(Path(bundle)) if bundle else {}
    skill_type = environment["SSSA_SKILL_TYPE"]
    return asyncio.run(trace_bundle(files, skill_type, probe, timeout_s=timeout_s, run=bool(bundle)))


def read_files(folder: Path) -> dict[str, bytes]:
    """Return the bundle's files by relative path."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def main() -> None:
    """Run, and leave the trace files in the evidence folder when nobody else is left to write there."""
    keep_others_out()
    # The kernel keeps every signal from process 1 that it does not handle, and Python handles this one.
    signal.signal(signal.SIGINT, lambda *_: None)
    records = traced(os.environ)
    kill_all_others()
    evidence = Path(os.environ["SSSA_EVIDENCE"])
    clear(evidence)
    for name, content in trace_files(records).items():
        (evidence / name).write_bytes(content)


if __name__ == "__main__":
    main()
