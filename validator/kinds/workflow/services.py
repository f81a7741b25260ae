"""How a step's service is called: the room's one interface to the world."""

from dataclasses import dataclass
from typing import Protocol

from validator.protocol.reasons import Reason
from validator.protocol.workflow_task import Tool


@dataclass(frozen=True, slots=True)
class StepReply:
    """What came of one call.

    Attributes:
        reason: None when a 200 body arrived whole and within its limit; else the `step_` reason.
        body: what arrived, where `reason` is None.
        detail: one harmless line about a failure.
    """

    reason: Reason | None
    body: bytes
    detail: str = ""


class StepClient(Protocol):
    """Calls services. Every outcome is a `StepReply`; a call that takes too long is cancelled from outside."""

    async def call(self, tool: Tool, body: bytes, timeout_s: float) -> StepReply:
        """Send `body` to the tool's service, once.

        Args:
            tool: where it is called, and the hotkey that the request is bound to.
            body: an encoded `StepRequest`.
            timeout_s: when the caller will give up.
        """

    async def close(self) -> None:
        """Free what the client holds; no call may be open or follow."""
