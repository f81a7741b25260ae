"""A real Prometheus with our configuration and rules, sped up: it looks every second and waits two before it alerts."""

import asyncio
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from daemon_process import free_port
from prometheus_api import PrometheusApi, sped_up
from promtool import FOLDER


@dataclass(frozen=True, slots=True)
class Prometheus(PrometheusApi):
    """A running one.

    Attributes:
        process: it.
        log: what it wrote.
    """

    process: subprocess.Popen[bytes]
    log: Path

    def ask(self, path: str, **parameters: str) -> Any:
        assert self.process.poll() is None, self.log.read_text()
        return PrometheusApi.ask(self, path, **parameters)


@contextmanager
def prometheus(folder: Path, target: str, token: str = "") -> Iterator[Prometheus]:
    """Start it on docker-compose's configuration; of that, only addresses, the token's file and durations are changed.

    Args:
        folder: where it may write; a file in its folder alertmanagers names the receivers.
        target: host and port instead of validator:9337.
        token: what the token's file holds.
    """
    address = f"127.0.0.1:{free_port()}"
    (folder / "rules.yml").write_text(sped_up((FOLDER / "rules.yml").read_text()))
    (folder / "token").write_text(token)
    (folder / "alertmanagers").mkdir()
    config = sped_up((FOLDER / "prometheus.yml").read_text())
    for ours, here in {
        "validator:9337": target,
        "localhost:9090": address,
        "/run/secrets/health_token": str(folder / "token"),
    }.items():
        assert ours in config
        config = config.replace(ours, here)
    (folder / "prometheus.yml").write_text(config)
    words = ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen([*words, f"--web.listen-address={address}"], stderr=log)
    try:
        yield Prometheus(address, process, folder / "log")
    finally:
        process.kill()
        process.wait()


async def until(condition: Callable[[], bool], otherwise: Callable[[], str] = str) -> None:
    """Wait for the thing itself: another process brings it about. If it does not, `otherwise` says what is missing."""
    try:
        async with asyncio.timeout(60):
            while not await asyncio.to_thread(condition):  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.1)
    except TimeoutError:
        pytest.fail(otherwise() or "it did not come")
