"""Traces for the reference miner's answers: runs the network's own bundles as processes of runner/tracer."""

import asyncio
import json
from collections.abc import Callable, Mapping

from tracer.records import Probes, Records, TracingError, empty_records, trace_files
from tracer.run import trace_bundle

from sssa.protocol.answer import Dispatch, ProbeEvidence
from sssa.protocol.archives import pack
from sssa.protocol.canonical import canonical_bytes, sha256_hex
from sssa.protocol.skill_types import SkillType
from validator.sandbox.interface import Evidence, Sandbox, SandboxJob

__all__ = ["Records", "Tracer", "TracingError", "pack_traces", "trace_as", "trace_hashes"]


def pack_traces(records: Records) -> bytes:
    """Return the trace bundle: a gzip tar of the trace files."""
    return pack(trace_files(records))


def trace_hashes(records: Records) -> dict[str, str]:
    """Return trace name to `sha256:<hex>`, as the validator computes them from the bundle (SPEC 5)."""
    hashes = {}
    for name, entries in records.items():
        lines = sorted((entry["ts"], canonical_bytes(entry)) for entry in entries)
        hashes[name] = "sha256:" + sha256_hex(b"\n".join(line for _, line in lines))
    return hashes


async def trace_as(
    files: Mapping[str, bytes], skill_type: SkillType, probe: ProbeEvidence, *, timeout_s: float, run: bool = True
) -> Records:
    """Return what `tracer.run.trace_bundle` returns, for the probes of a dispatch."""
    probes = Probes(*(getattr(probe, name) for name in Probes._fields))
    return await trace_bundle(files, skill_type, probes, timeout_s=timeout_s, run=run)


class Tracer:
    """Traces bundles for all local miners, a bounded number at once.

    Args:
        may_run: says by a bundle's sha256 (hex, lower case) which ones are run on this machine: those that the local
            network made itself; None: none.
        timeout_s: seconds of wall time for one bundle, waiting not counted.
        sandbox: runs the other bundles, in the image of the dispatch; None: nothing does.
    """

    def __init__(
        self,
        may_run: Callable[[str], bool] | None = None,
        *,
        at_once: int = 2,
        timeout_s: float = 5.0,
        sandbox: Sandbox | None = None,
    ) -> None:
        self._may_run = may_run
        self.timeout_s = timeout_s
        self._sandbox = sandbox
        self._slots = asyncio.Semaphore(at_once)

    async def trace(
        self, sha256: str, files: Mapping[str, bytes], skill_type: SkillType, probe: ProbeEvidence, *, run: bool = True
    ) -> Records:
        """Return the traces of an own run of the bundle, by name; `run` False performs the probes only.

        Raises:
            TracingError: a content type, probe values that are not the protocol's, or no process could be started.
        """
        async with self._slots:
            allowed = run and self._permits(sha256)
            return await trace_as(files, skill_type, probe, timeout_s=self.timeout_s, run=allowed)

    async def trace_dispatch(self, dispatch: Dispatch, files: Mapping[str, bytes], *, run: bool = True) -> Records:
        """Return what `trace` returns for the bundle of a dispatch; what may not run here runs in the sandbox.

        Raises:
            TracingError: as `trace`, or the sandbox ran nothing.
        """
        sha256, skill_type, probe = dispatch.bundle_sha256, dispatch.skill_type, dispatch.probe_spec
        if not run or self._sandbox is None or dispatch.runtime_image is None or self._permits(sha256):
            return await self.trace(sha256, files, skill_type, probe, run=run)
        job = SandboxJob(dispatch.runtime_image, skill_type, pack(files), dispatch.nonce, probe)
        async with self._slots:
            evidence = await self._sandbox.run(job)
        if not isinstance(evidence, Evidence):
            raise TracingError(evidence.detail)
        return empty_records(skill_type) | {
            name.removesuffix(".jsonl"): [json.loads(line) for line in content.splitlines()]
            for name, content in evidence.files.items()
        }

    def _permits(self, sha256: str) -> bool:
        return self._may_run is not None and self._may_run(sha256.lower())
