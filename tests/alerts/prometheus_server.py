"""A real Prometheus with our configuration and rules, sped up: it looks every second and waits two before it alerts."""

import asyncio
import json
import re
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from daemon_process import free_port
from promtool import FOLDER

_NOTHING: Final[dict[str, Any]] = {"activeTargets": [], "alerts": [], "result": []}


@dataclass(frozen=True, slots=True)
class Prometheus:
    """A running one.

    Attributes:
        process: it.
        address: host and port of its API.
        log: what it wrote.
    """

    process: subprocess.Popen[bytes]
    address: str
    log: Path

    def ask(self, path: str, **parameters: str) -> Any:
        """What its API answers; nothing while it starts."""
        assert self.process.poll() is None, self.log.read_text()
        url = f"http://{self.address}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            if error.code < 500:
                raise AssertionError(error.read().decode()) from None
            return _NOTHING
        except OSError:
            return _NOTHING

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The samples that an expression has now."""
        found: list[dict[str, Any]] = self.ask("query", query=expression)["result"]
        return found

    def health(self) -> dict[str, str]:
        """Each target's health by its job."""
        return {one["labels"]["job"]: one["health"] for one in self.ask("targets")["activeTargets"]}

    def firing(self) -> set[str]:
        """The alerts that fire."""
        return {one["labels"]["alertname"] for one in self.ask("alerts")["alerts"] if one["state"] == "firing"}


@contextmanager
def prometheus(folder: Path, target: str, token: str = "") -> Iterator[Prometheus]:
    """Start it on docker-compose's configuration; of that, only addresses, the token's file and durations are changed.

    Args:
        folder: where it may write; a file in its folder alertmanagers names who is told.
        target: host and port instead of validator:9337.
        token: what the token's file holds.
    """
    address = f"127.0.0.1:{free_port()}"
    (folder / "rules.yml").write_text(re.sub(r"for: \d+m", "for: 2s", (FOLDER / "rules.yml").read_text()))
    (folder / "token").write_text(token)
    (folder / "alertmanagers").mkdir()
    config = (FOLDER / "prometheus.yml").read_text()
    for ours, here in {
        "validator:9337": target,
        "localhost:9090": address,
        "/run/secrets/health_token": str(folder / "token"),
        "15s": "1s",
    }.items():
        assert ours in config
        config = config.replace(ours, here)
    (folder / "prometheus.yml").write_text(config)
    words = ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen([*words, f"--web.listen-address={address}"], stderr=log)
    try:
        yield Prometheus(process, address, folder / "log")
    finally:
        process.kill()
        process.wait()


async def until(condition: Callable[[], bool], otherwise: Callable[[], str] = str) -> None:
    """Wait for the thing itself: another process comes to it. If it does not come, `otherwise` says what is missing."""
    try:
        async with asyncio.timeout(60):
            while not await asyncio.to_thread(condition):  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.1)
    except TimeoutError:
        pytest.fail(otherwise() or "it did not come")
