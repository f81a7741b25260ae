"""How miners are called: the room's one interface (SPEC 5, gate 1)."""

from typing import Protocol

from validator.outgoing.calls import Call, Reply, Sent

__all__ = ["Call", "MinerClient", "Reply", "Sent"]


class MinerClient(Protocol):
    """Sends requests to miners. Every outcome is a `Reply`; only CancelledError and what `sent` raises come out."""

    async def post(self, call: Call, sent: Sent | None = None) -> Reply:
        """Send `call` as POST, once: it is never tried again."""

    async def get(self, call: Call, sent: Sent | None = None) -> Reply:
        """Send `call` as GET, without its body."""

    async def close(self) -> None:
        """Free what the client holds; no call may be open or follow."""
