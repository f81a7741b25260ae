"""docker-compose.yml with the profiles `postgres` and `monitoring`: Prometheus sees the database go and come back.

Grafana has no binary here: its service stands for none.
"""

import asyncio
import shutil
import time
from pathlib import Path

import pytest
from compose_kit import Operator, Stack, events, operated, operators_image, rounds, tell
from daemon_process import Held, free_port
from package_files import ROOT
from prometheus_api import PrometheusApi, sped_up
from promtool import need
from stack_images import postgres_image, prometheus_image

pytestmark = [pytest.mark.engine, pytest.mark.timeout(1800)]
PASSWORD = "of-this-test"


@pytest.fixture
def image() -> str:
    return operators_image()


def stack(folder: Path, port: int) -> Stack:
    """Postgres and Prometheus as an operator sets them up; of Prometheus' files only durations are changed."""
    watching = folder / "prometheus"
    shutil.copytree(ROOT / "config" / "prometheus", watching)
    for name in ("prometheus.yml", "rules.yml"):
        (watching / name).write_text(sped_up((watching / name).read_text()))
    secrets = {"store_url": f"postgresql://validator:{PASSWORD}@postgres/validator", "postgres_password": PASSWORD}
    for name, value in secrets.items():
        (folder / name).write_text(value)
    return Stack(
        variables={
            "COMPOSE_PROFILES": "postgres,monitoring",
            **{f"{name.upper()}_FILE": str(folder / name) for name in secrets},
            "POSTGRES_IMAGE": postgres_image(),
            "PROMETHEUS_IMAGE": prometheus_image(),
            "PROMETHEUS_PORT": str(port),
            "GRAFANA_IMAGE": prometheus_image(),  # so that there is one; nothing runs of it
        },
        files=["docker-compose.postgres.yml"],
        services={
            "prometheus": {"volumes": [f"{watching}:/etc/prometheus:ro"]},
            "grafana": {"deploy": {"replicas": 0}},
        },
    )


def settled(operator: Operator) -> int:
    return len(events(operator.log(), "round_settled"))


async def test_an_alert_comes_with_the_databases_end_and_goes_with_its_return(image: str, tmp_path: Path) -> None:
    need("prometheus")
    port = free_port()
    watcher = PrometheusApi(f"127.0.0.1:{port}")
    async with operated(tmp_path, image, stack(tmp_path, port)) as (operator, miners):
        await operator.compose("up", "--no-build", "--detach")
        await operator.until(lambda: watcher.health() == {"validator": "up", "prometheus": "up"})
        await operator.until(lambda: settled(operator) >= 2)
        await operator.until(lambda: not watcher.firing())
        assert "ok" in await operator.says("health")
        assert watcher.query("validator_rounds_total")

        await operator.compose("stop", "postgres")
        assert operator.state("postgres")["ExitCode"] == 0
        begun = time.monotonic()
        await operator.until(lambda: "ValidatorStore" in watcher.firing())
        tell(f"\nValidatorStore fires {time.monotonic() - begun:.1f} s after the database's end")
        assert "store_away (unhealthy): " in await operator.says("health", code=1)

        await operator.compose("start", "postgres")
        begun = time.monotonic()
        await operator.until(lambda: not watcher.firing())
        tell(f"no alert fires {time.monotonic() - begun:.1f} s after its return")
        before = settled(operator)
        await operator.until(lambda: settled(operator) >= before + 2)
        assert "ok" in await operator.says("health")
        assert (operator.state()["RestartCount"], len(events(operator.log(), "daemon_started"))) == (0, 1)

        miners.answerer = held = Held()
        await held.requested.wait()
        in_hand = int(events(operator.log(), "round_started")[-1]["round_id"])
        stopping = asyncio.create_task(operator.compose("stop"))
        await operator.until(lambda: len(events(operator.log(), "daemon_stopping")) == 1)
        begun = time.monotonic()
        held.release.set()
        await stopping
        tell(f"stop: all ended {time.monotonic() - begun:.1f} s after the last answer, the database last")
        assert {name: operator.state(name)["ExitCode"] for name in ("validator", "postgres", "prometheus")} == {
            "validator": 0,
            "postgres": 0,
            "prometheus": 0,
        }
        after = await rounds(operator)
        assert sorted(after) == list(range(in_hand + 1))
        assert after[in_hand]["state"] == "settled"
        await operator.alone("replay", "--all")
        await operator.alone("db", "check")
