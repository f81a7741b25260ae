"""Who can do what: the miners' own signed declarations, asked for again and again (SPEC 13)."""

import asyncio
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import msgspec
import structlog

from validator.miners.calls import Call, MinerClient
from validator.protocol.capabilities import Capabilities, parse_capabilities
from validator.protocol.limits import MAX_CAPABILITIES_BODY
from validator.protocol.round import MetagraphSnapshot, Neuron
from validator.protocol.strict_json import JsonError
from validator.protocol.times import parse_time
from validator.sources import Clock
from validator.store import Store

_PATH: Final = "/v1/capabilities"
_DEADLINE_S: Final = 5.0
_AT_ONCE: Final = 64
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class CapabilityDirectory:
    """Asks miners for their declarations and keeps the last valid one of each until it expires.

    Args:
        client, store, clock: what it uses.
        hotkey: the validator's own, which is not asked.
    """

    client: MinerClient
    store: Store
    clock: Clock
    hotkey: str

    async def refresh(self, snapshot: MetagraphSnapshot) -> None:
        """Ask every registered miner that announces an axon; what cannot be used changes nothing."""
        started = self.clock.monotonic()
        turns = asyncio.Semaphore(_AT_ONCE)
        asked = [n for n in snapshot.neurons if n.hotkey != self.hotkey and n.axon is not None]
        found = await asyncio.gather(*(self._fetch(neuron, turns) for neuron in asked))
        valid = [pair for pair in found if pair is not None]
        await self._keep(valid)
        _log.info(
            "capabilities_refreshed",
            asked=len(asked),
            valid=len(valid),
            refused=len(asked) - len(valid),
            seconds=round(self.clock.monotonic() - started, 3),
        )

    async def _fetch(self, neuron: Neuron, turns: asyncio.Semaphore) -> tuple[Capabilities, bytes] | None:
        call = Call(neuron.hotkey, neuron.axon, _PATH, b"", _DEADLINE_S, MAX_CAPABILITIES_BODY)
        async with turns:
            reply = await self.client.get(call)
        if reply.reason is not None or reply.body is None:
            return None
        with reply.body as body:
            data = body.read()
        try:
            return parse_capabilities(data, hotkey=neuron.hotkey, now=self.clock.now()), data
        except JsonError:
            return None

    async def _keep(self, valid: list[tuple[Capabilities, bytes]]) -> None:
        now = self.clock.now()
        async with self.store.begin() as tx:
            known = await tx.capabilities.valid(now)
            for document, data in valid:
                issued = parse_time(document.issued_at, "issued_at")
                if issued >= _issued(known.get(document.hotkey)):
                    expires = parse_time(document.expires_at, "expires_at")
                    await tx.capabilities.put(document.hotkey, data, issued, expires, now)


def _issued(stored: bytes | None) -> datetime:
    """Return when the stored declaration was issued: a replayed older one must not replace it."""
    if stored is None:
        return parse_time("1970-01-01T00:00:00Z", "issued_at")
    return parse_time(msgspec.json.decode(stored, type=Capabilities).issued_at, "issued_at")
