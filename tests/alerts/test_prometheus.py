"""A real Prometheus with our configuration and rules reads a port that asks for a token; an alert comes and goes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from prometheus_server import prometheus, until
from promtool import need

from validator.conditions import Board
from validator.settings import HealthSettings
from validator.sources import SystemClock
from validator.telemetry import Metrics
from validator.web.health import HealthService
from validator.web.state import HealthState

TOKEN = "0123456789abcdef"


@asynccontextmanager
async def listening() -> AsyncIterator[tuple[Board, str]]:
    """A health port with a token: its board, and where it is."""
    clock = SystemClock()
    metrics = Metrics(clock, "1")
    board = Board(clock, metrics.condition)
    service = HealthService(HealthSettings(port=0, token=TOKEN), HealthState(clock, 600.0, "1", board), metrics)
    await service.start()
    try:
        yield board, "{}:{}".format(*service.address)
    finally:
        await service.close()


@pytest.mark.faults
async def test_prometheus_reads_the_validator_and_an_alert_comes_and_goes(tmp_path: Path) -> None:
    need("prometheus")
    async with listening() as (board, target):
        with prometheus(tmp_path, target, TOKEN) as watcher:
            await until(lambda: watcher.health() == {"validator": "up", "prometheus": "up"})
            board.raise_("local_disk")
            await until(lambda: watcher.firing() == {"ValidatorMachine"})
            board.clear("local_disk")
            await until(lambda: not watcher.firing())
