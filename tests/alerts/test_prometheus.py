"""A real Prometheus with our configuration and rules reads a port that asks for a token; an alert comes and goes."""

import asyncio
import json
import re
import subprocess
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from daemon_process import free_port
from promtool import FOLDER, need

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


@contextmanager
def prometheus(folder: Path, target: str) -> Iterator[Callable[[str], Any]]:
    """A running one that looks every second and waits two before it alerts; a function that asks its API."""
    rules = re.sub(r"for: \w+", "for: 2s", (FOLDER / "rules.yml").read_text())
    (folder / "rules.yml").write_text(rules)
    (folder / "token").write_text(TOKEN)
    config = (FOLDER / "prometheus.yml").read_text().replace("15s", "1s").replace("validator:9337", target)
    config = config.replace("    # authorization:\n    #   ", "    authorization:\n      ")
    (folder / "prometheus.yml").write_text(config.replace("/run/secrets/health_token", str(folder / "token")))
    address = f"127.0.0.1:{free_port()}"
    words = ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen([*words, f"--web.listen-address={address}"], stderr=log)

        def ask(path: str) -> Any:
            assert process.poll() is None, (folder / "log").read_text()
            try:
                with urllib.request.urlopen(f"http://{address}/api/v1/{path}", timeout=5) as answer:
                    return json.load(answer)["data"]
            except OSError:
                return {"activeTargets": [], "alerts": []}  # it starts

        try:
            yield ask
        finally:
            process.kill()
            process.wait()


async def until(condition: Callable[[], bool]) -> None:
    """Wait for the thing itself: another process comes to it."""
    async with asyncio.timeout(60):
        while not await asyncio.to_thread(condition):  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.1)


@pytest.mark.faults
async def test_prometheus_reads_the_validator_and_an_alert_comes_and_goes(tmp_path: Path) -> None:
    need("prometheus")
    async with listening() as (board, target):
        with prometheus(tmp_path, target) as ask:

            def firing() -> set[str]:
                alerts = [alert for alert in ask("alerts")["alerts"] if alert["state"] == "firing"]
                return {alert["labels"]["alertname"] for alert in alerts}

            await until(lambda: [one["health"] for one in ask("targets")["activeTargets"]] == ["up"])
            board.raise_("local_disk")
            await until(lambda: firing() == {"ValidatorMachine"})
            board.clear("local_disk")
            await until(lambda: not firing())
