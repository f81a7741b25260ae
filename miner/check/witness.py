"""What a run of a written skill shows, for gate 7: a group's other primaries are not there to compare with (D-21)."""

from collections.abc import Mapping

from miner.tracing import Tracer, TracingError, pack_traces
from validator.kinds.assessment.judge import PackedSignatures
from validator.protocol.probes import probe_values
from validator.protocol.round import RoundTask
from validator.protocol.traces import read_traces


class Witness:
    """Runs skills that the local network wrote, and no others.

    Args:
        tracer: how; its policy says which bundles it runs.
    """

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    async def signatures(self, task: RoundTask, files: Mapping[str, bytes]) -> PackedSignatures | None:
        """Return what a run of the task's bundle shows; None where it cannot be run here."""
        probes = probe_values(task.nonce)
        try:
            records = await self._tracer.trace(task.bundle_sha256, files, task.skill_type, probes)
        except TracingError:
            return None
        return PackedSignatures.of(read_traces(pack_traces(records), task.skill_type, probes))
