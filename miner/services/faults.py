"""Faults of the local step services: rare, and the same for the same request."""

import hashlib
from typing import Final, Literal

from validator.protocol.workflow_run import StepRequest

Fault = Literal["none", "breaks", "fails", "hangs"]

# Of 256 requests so many break off, fail and hang.
_BREAKS: Final = 6
_FAILS: Final = 4
_HANGS: Final = 2


def fault_of(seed: str, request: StepRequest) -> Fault:
    """Return what goes wrong with a request; another attempt is another draw."""
    name = f"{seed}|{request.run_id}|{request.node_id}|{request.attempt}"
    drawn = hashlib.sha256(name.encode()).digest()[0]
    if drawn < _BREAKS:
        return "breaks"
    if drawn < _BREAKS + _FAILS:
        return "fails"
    return "hangs" if drawn < _BREAKS + _FAILS + _HANGS else "none"
