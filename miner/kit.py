"""What a local miner works with."""

from dataclasses import dataclass

from miner.analyses import Analyser
from miner.tracing import Tracer
from validator.protocol.signatures import Signer


@dataclass(frozen=True, slots=True)
class Kit:
    """A miner's own hotkey, the tools that it shares with the other local miners."""

    signer: Signer
    analyses: Analyser
    tracer: Tracer
