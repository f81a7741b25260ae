"""`validator devnet --scenario invented` with real containers: who invents traces is caught, and nobody else.

`INVENTED_ROUNDS` sets its length, 10 by default. That D-30 makes the difference, and not the inventor's report, is
shown without an engine in tests/reruns/test_invented_traces.py.
"""

import asyncio
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from engine_kit import Registry, left_behind

from validator.reruns.sandbox.engine import Engine

pytestmark = pytest.mark.engine

CONFIG = Path(__file__).parents[3] / "config" / "demo.toml"
ROUNDS = int(os.environ.get("INVENTED_ROUNDS", "10"))


def devnet(folder: Path) -> dict[str, Any]:
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from validator.cli import main; main()",
            *("devnet", "--config", str(CONFIG), "--scenario", "invented", "--rounds", str(ROUNDS), "--json"),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=1_500,
        env=os.environ | {"VALIDATOR_STORE__URL": f"sqlite:///{folder}/devnet.sqlite"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert '"level": "error"' not in done.stderr, done.stderr[-8000:]
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.mark.timeout(1_600)
async def test_inventing_is_worth_less_than_half_of_honest_work(registry: Registry, tmp_path: Path) -> None:
    before = await images()
    result = await asyncio.to_thread(devnet, tmp_path)
    story = result["reruns"]
    assert (story["why_not"], result["settled"]) == ("", ROUNDS)
    honest = [miner for miner in story["miners"] if miner["behaviour"] in {"thorough", "partial"}]
    (sloppy,), (inventing,), (pretending,) = (
        [miner for miner in story["miners"] if miner["behaviour"] == kind]
        for kind in ("sloppy", "inventing", "pretending")
    )
    entry = statistics.mean(miner["mean_entry"] for miner in honest)
    for miner in story["miners"]:
        tried, share = miner["passed"] + miner["failed"], miner["mean_entry"] / entry
        told = (
            f"{miner['failed']} of {tried} failed, {share:.2f} of an honest entry, reputation {miner['reputation']:.3f}"
        )
        print(f"{miner['name']}: {told}")  # noqa: T201
    assert [miner["name"] for miner in (*honest, sloppy) if miner["failed"]] == []
    assert sum(miner["passed"] for miner in honest) > 0
    assert (inventing["passed"], pretending["passed"]) == (0, 0)
    assert set(inventing["reasons"]) == {"rerun_fs"}
    assert inventing["mean_entry"] < entry / 2
    assert inventing["reputation"] == min(miner["reputation"] for miner in story["miners"])
    left = await left_behind()
    assert (left["containers"], left["volumes"]) == ([], [])
    assert await images() == before


async def images() -> set[str]:
    """Every image that was pulled from a local network."""
    engine = Engine(os.environ["DOCKER_HOST"])
    try:
        listed = await engine._docker.images.list()
        return {name for one in listed for name in one["RepoDigests"] or () if "/sssa/" in name}
    finally:
        await engine.close()
