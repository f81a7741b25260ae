"""One dispatch at one reference miner, as its behaviour sees it: analysis, own run, signed answer (SPEC 2, 13)."""

import asyncio
import base64
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

import msgspec

from miner.analysis import Analysis
from miner.analysis_pool import Analyser
from miner.tracing import Records, Tracer, pack_traces, trace_hashes
from sssa.protocol.answer import Answer, Dispatch, canary_marker
from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import is_runtime
from sssa.protocol.sssa import Analysis as Conclusion
from sssa.protocol.sssa import Evidence, Policy, SandboxManifest, Signature, Skill, Sssa
from sssa.sources import Clock

TRACER_VERSION: Final = "1"


@dataclass(frozen=True, slots=True)
class Kit:
    """A miner's own hotkey, the tools that it shares with the other local miners."""

    signer: Signer
    analyses: Analyser
    tracer: Tracer


Response = bytes | AsyncIterator[bytes]
"""A response body, whole or piece by piece."""


@dataclass(frozen=True, slots=True)
class Assessment:
    """Input of a behaviour.

    Attributes:
        received: `clock.monotonic()` when the request had arrived.
    """

    dispatch: Dispatch
    files: dict[str, bytes]
    kit: Kit
    clock: Clock
    received: float

    @property
    def runtime_primary(self) -> bool:
        """True if the bundle must be run and traced."""
        return self.dispatch.role == "primary" and is_runtime(self.dispatch.skill_type)

    async def analysis(self) -> Analysis:
        """Return the reference analysis of the bundle, shared between local miners."""
        dispatch = self.dispatch
        marker = canary_marker(dispatch.nonce) if dispatch.canary_spec else None
        return await self.kit.analyses.analyse(dispatch.bundle_sha256.lower(), self.files, dispatch.skill_type, marker)

    async def traces(self, *, run: bool) -> Records:
        """Return the traces of this miner's own run; `run` False performs the probes only."""
        return await self.kit.tracer.trace_dispatch(self.dispatch, self.files, run=run)

    async def answer(self, analysis: Analysis, *, run: bool = True, claims: Records | None = None) -> Answer:
        """Return a signed answer that says what `analysis` says, with traces where the role asks for them.

        They are those of a run, without `run` of the probes alone, or the claims.

        Raises:
            TracingError: the bundle could not be traced.
        """
        if not self.runtime_primary:
            return await asyncio.to_thread(self._build, analysis, None)
        records = await self.traces(run=run) if claims is None else claims
        return await asyncio.to_thread(self._build, analysis, records)

    def _build(self, analysis: Analysis, records: Records | None) -> Answer:
        dispatch = self.dispatch
        image = dispatch.runtime_image if records is not None else None
        ran = None if image is None else SandboxManifest(image.reference, image.digest, TRACER_VERSION)
        sssa = Sssa(
            schema_version="1.0",
            skill=Skill(dispatch.skill_type, dispatch.bundle_sha256, dispatch.nonce),
            analysis=Conclusion(
                verdict=analysis.verdict,
                risk_score=analysis.risk_score,
                findings=analysis.findings,
                capabilities=analysis.capabilities,
                dependencies=analysis.dependencies,
            ),
            evidence=Evidence(
                trace_hashes=trace_hashes(records) if records is not None else {},
                manifest_sha256=analysis.manifest_sha256,
                sandbox_manifest=ran,
                llm_evidence=None,
            ),
            policy=Policy(analysis.rules),
            signature=Signature(self.kit.signer.hotkey, "sr25519", ""),
        )
        packed = base64.b64encode(pack_traces(records)).decode("ascii") if records is not None else None
        return Answer(self.kit.signer.sign_document(sssa), dispatch.probe_spec, packed)


def encode(answer: Answer) -> bytes:
    """Return the response body."""
    return msgspec.json.encode(answer)
