"""What the image runs: the dispatched bundle under the tracer, whose records become the evidence."""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

from localnet.tracing.records import Records, trace_files
from localnet.tracing.run import trace_bundle
from validator.protocol.answer import ProbeEvidence
from validator.protocol.skill_types import SkillType

RUN_S = 20.0
"""Seconds for one bundle, more than a miner takes: a container's share of a processor may be small."""


def read_files(folder: Path) -> dict[str, bytes]:
    """Return the bundle's files by relative path."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def traced(environment: Mapping[str, str]) -> Records:
    """Run the bundle and return its traces; the variables are those that every image is given."""
    files = read_files(Path(environment["SSSA_BUNDLE"]))
    probe = ProbeEvidence(
        **{name: environment[f"SSSA_PROBE_{name.upper()}"] for name in ProbeEvidence.__struct_fields__}
    )
    timeout_s = min(RUN_S, float(environment["SSSA_SECONDS"]) / 2)
    return asyncio.run(trace_bundle(files, SkillType(environment["SSSA_SKILL_TYPE"]), probe, timeout_s=timeout_s))


def leave(records: Records, folder: Path) -> None:
    """Write the traces into the evidence folder."""
    for name, content in trace_files(records).items():
        (folder / name).write_bytes(content)


if __name__ == "__main__":
    leave(traced(os.environ), Path(os.environ["SSSA_EVIDENCE"]))
