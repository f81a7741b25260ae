"""The health port takes a bounded number of descriptors, and anyone who holds connections keeps nobody out (D-26)."""

import asyncio
import os

import aiohttp
from test_health_endpoint import new_state

from validator.health.endpoint import HealthService
from validator.rounds.readiness import ENDPOINT_BOUNDS
from validator.settings.model import HealthSettings

MANY = 100


def descriptors() -> int:
    return len(os.listdir("/dev/fd"))  # noqa: PTH208 - names, counted


async def test_idle_connections_keep_nobody_out_and_take_few_descriptors() -> None:
    service = HealthService(HealthSettings(port=0), new_state())
    await service.start()
    host, port = service.address
    running = asyncio.create_task(service.run())
    before = descriptors()
    held = [await asyncio.open_connection(host, port) for _ in range(MANY)]
    async with aiohttp.ClientSession() as session, session.get(f"http://{host}:{port}/readyz") as response:
        assert response.status == 200
    assert descriptors() - before - MANY <= ENDPOINT_BOUNDS.descriptors
    assert sum(not reader.at_eof() for reader, _ in held) < ENDPOINT_BOUNDS.connections
    for _, writer in held:
        writer.close()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
