"""`validator devnet --scenario invented` with real containers: who invents traces is caught, and nobody else.

`INVENTED_ROUNDS` sets its length, 3 by default; from 24 on pay is asserted, too. docs/localnet.md has the figures.
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

from validator.sandbox.engine import Engine

pytestmark = pytest.mark.engine

CONFIG = Path(__file__).parents[3] / "config" / "demo.toml"
ROUNDS = int(os.environ.get("INVENTED_ROUNDS", "3"))
LONG = 24  # rounds from which on pay is asserted
MOST_PAID = 0.25  # of an honest pay, to who runs nothing
MOST_PASSED = 0.05  # of the tasks made here, by those who run nothing
KINDS = ("thorough", "partial", "sloppy", "inventing", "pretending", "sleeping", "copying")


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
        timeout=7_000,
        env=os.environ | {"VALIDATOR_STORE__URL": f"sqlite:///{folder}/devnet.sqlite"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert '"level": "error"' not in done.stderr, done.stderr[-8000:]
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.mark.timeout(7_200)
async def test_inventing_is_caught_and_nobody_else(registry: Registry, tmp_path: Path) -> None:
    before = await images()
    result = await asyncio.to_thread(devnet, tmp_path)
    story, paid = result["executions"], {miner["name"]: miner["score"] for miner in result["miners"]}
    assert (story["why_not"], result["settled"]) == ("", ROUNDS)
    by_kind = {kind: [one for one in story["miners"] if one["behaviour"] == kind] for kind in KINDS}
    honest = [*by_kind["thorough"], *by_kind["partial"]]
    pay = statistics.mean(paid[miner["name"]] for miner in honest)
    print(f"{ROUNDS} rounds, tasks' answers: {story['states']}")  # noqa: T201
    for kind, miners in by_kind.items():
        passed, failed, made_passed, made_failed = (
            sum(miner[name] for miner in miners) for name in ("passed", "failed", "made_passed", "made_failed")
        )
        share = statistics.mean(paid[miner["name"]] for miner in miners) / pay
        made = f"{made_passed} of {made_passed + made_failed} in tasks made here"
        told = f"{passed} of {passed + failed} passed, {made}, {share:.2f} of an honest pay"
        print(f"{kind} ({len(miners)}): {told}, reputation {[miner['reputation'] for miner in miners]}")  # noqa: T201
    runners = [*honest, *by_kind["sloppy"], *by_kind["copying"]]
    assert [miner["name"] for miner in runners if miner["failed"]] == []
    assert sum(miner["passed"] for miner in honest) > 0
    for kind in ("inventing", "pretending", "sleeping"):
        (miner,) = by_kind[kind]
        assert miner["made_passed"] <= (miner["made_passed"] + miner["made_failed"]) * MOST_PASSED
        if ROUNDS >= LONG:
            assert paid[miner["name"]] < pay * MOST_PAID
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
