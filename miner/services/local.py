"""The four step services of the local network, started and stopped together."""

import asyncio
from collections.abc import Collection

from miner.services.catalogue import SERVICES, Service, ServiceAddress
from miner.services.server import StepService
from validator.protocol.signatures import Signer
from validator.sources import Clock


class LocalServices:
    """Every service on a loopback port of its own.

    Args:
        seed: the network's; hotkeys and faults follow from it.
        callers: the only hotkeys they work for.
        clock: time passes on it.
        faults: whether they fail now and then, as the seed has it.
    """

    def __init__(self, seed: str, callers: Collection[str], clock: Clock, *, faults: bool = True) -> None:
        failing = seed if faults else None
        self._services: dict[Service, StepService] = {
            name: StepService(name, Signer.from_uri(f"//{seed}//service-{name}"), callers, clock, failing)
            for name in SERVICES
        }

    async def start(self) -> dict[Service, ServiceAddress]:
        """Listen; return where each is called."""
        return {name: ServiceAddress(await service.start(), service.hotkey) for name, service in self._services.items()}

    async def close(self) -> None:
        """Stop listening."""
        await asyncio.gather(*(service.close() for service in self._services.values()))
