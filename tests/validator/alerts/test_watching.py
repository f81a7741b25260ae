"""A real validator on Postgres, watched by docker-compose's Prometheus: every panel has data, alerts come and go."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import pytest
from daemon_process import Miners, Site, free_port
from dashboards import queries
from prometheus_server import Prometheus, prometheus, until
from promtool import need
from store_faults import postgres

from sssa.protocol.task import Windows

pytestmark = [pytest.mark.faults, pytest.mark.timeout(200)]

# What may have nothing to show after some rounds in which nothing went wrong.
QUIET: Final = {
    *("Round in hand for", "Round in hand and length of rounds"),  # between two rounds there is none
    *("What stands in the way", "Alerts", "Conditions over time", "Errors of the validator's own"),
    *("Why no weights can be sent", "Unpaid windows"),
    *("Void through this side", "Workers that ended", "Too early in the last hour"),
    *("Executions by reason", "Code checks by outcome", "Plans that were run", "How long plans ran"),
    *("Submissions", "How long submissions took"),  # the first comes before Prometheus has looked twice
    "Disk full in",  # other programs may free as much
    "marks",
}


@pytest.fixture
async def miners() -> AsyncIterator[Miners]:
    miners = Miners(3)
    await miners.start()
    yield miners
    await miners.close()


def finite(samples: list[dict[str, Any]]) -> bool:
    """Return whether any sample is a finite number."""
    return any(one["value"][1] not in {"NaN", "+Inf", "-Inf"} for one in samples)


def shown(watcher: Prometheus, instance: str) -> dict[str, bool]:
    """Return whether each panel has data, by title; every expression must evaluate."""
    found: dict[str, bool] = {}
    for one in queries():
        found[one.panel] = finite(watcher.query(one.of(instance))) or found.get(one.panel, False)
    return found


async def test_every_panel_has_data_and_alerts_come_and_go(
    miners: Miners, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    need("prometheus")
    port = free_port()
    target = f"127.0.0.1:{port}"
    with postgres(monkeypatch) as server, prometheus(tmp_path, target) as watcher:
        site = Site(tmp_path, server.url, miners, Windows((0, 200), (0, 200)), port)
        await until(lambda: watcher.firing() == {"ValidatorDown"})
        async with site.forked():
            await until(lambda: watcher.health() == {"validator": "up", "prometheus": "up"})
            await until(lambda: not watcher.firing())
            missing = {one.panel for one in queries()} - QUIET

            def all_there() -> bool:
                missing.difference_update(panel for panel, has in shown(watcher, target).items() if has)
                return not missing

            with capsys.disabled():
                await until(all_there, lambda: f"without data: {sorted(missing)}")
                quiet = [panel for panel, has in shown(watcher, target).items() if not has]
                print(f"\nwithout data: {quiet}")  # noqa: T201 - what nothing has happened for
            server.kill()
            await until(lambda: "ValidatorStore" in watcher.firing(), lambda: site.log.read_text()[-6000:])
            there = shown(watcher, target)
            assert there["What stands in the way"]
            assert there["Alerts"]
            server.start()
            await until(lambda: "ValidatorStore" not in watcher.firing(), lambda: site.log.read_text()[-6000:])
