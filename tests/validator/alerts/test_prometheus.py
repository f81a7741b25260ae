"""A real Prometheus with our configuration and rules reads a port that asks for a token, and tells of an alert."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from prometheus_server import prometheus, until
from promtool import need

from sssa.sources import SystemClock
from validator.health.board import Board
from validator.health.endpoint import HealthService
from validator.health.report import HealthState
from validator.settings.model import HealthSettings
from validator.telemetry.metrics import Metrics

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


@asynccontextmanager
async def notified(folder: Path) -> AsyncIterator[dict[str, dict[str, Any]]]:
    """Yield the newest notification of each alert, by name; a file in the folder names the receiver."""
    alerts: dict[str, dict[str, Any]] = {}

    async def take(request: web.Request) -> web.Response:
        alerts.update({one["labels"]["alertname"]: one for one in await request.json()})
        return web.Response()

    app = web.Application()
    app.router.add_post("/api/v2/alerts", take)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    (folder / "new").write_text(json.dumps([{"targets": [f"127.0.0.1:{runner.addresses[0][1]}"]}]))
    (folder / "new").rename(folder / "mine.yml")  # whole at once: it is read as soon as it is there
    try:
        yield alerts
    finally:
        await runner.cleanup()


@pytest.mark.faults
async def test_prometheus_reads_the_validator_and_tells_of_an_alert_that_comes_and_goes(tmp_path: Path) -> None:
    need("prometheus")
    async with listening() as (board, target):
        with prometheus(tmp_path, target, TOKEN) as watcher:
            await until(lambda: watcher.health() == {"validator": "up", "prometheus": "up"})
            async with notified(tmp_path / "alertmanagers") as alerts:
                await until(lambda: bool(watcher.ask("alertmanagers").get("activeAlertmanagers")))
                board.raise_("local_disk")
                await until(lambda: watcher.firing() == {"ValidatorMachine"})
                await until(lambda: "ValidatorMachine" in alerts)
                alert = alerts["ValidatorMachine"]
                assert alert["labels"]["severity"] == "page"
                assert alert["annotations"]["summary"].endswith("local_disk.")
                board.clear("local_disk")
                await until(lambda: not watcher.firing())
                await until(lambda: alerts["ValidatorMachine"]["endsAt"] < alert["endsAt"])  # it is over
