"""docker-compose.yml as an operator runs it: ready, stopped in a round, killed in a round, and waiting for somebody."""

import asyncio
import json
import time
from pathlib import Path

import pytest
from compose_kit import SETTINGS, docker, events, operated, operators_image, rounds, tell
from daemon_process import Held

pytestmark = [pytest.mark.engine, pytest.mark.timeout(1800)]


@pytest.fixture
def image() -> str:
    return operators_image()


async def test_it_gets_ready_finishes_its_round_at_a_stop_and_loses_nothing_when_it_is_killed(
    image: str, tmp_path: Path
) -> None:
    async with operated(tmp_path, image) as (operator, miners):
        begun = time.monotonic()
        await operator.compose("up", "--no-build", "--detach", "validator")
        await operator.until(lambda: len(events(operator.log(), "round_started")) >= 1)
        started = time.monotonic() - begun
        await operator.until(lambda: len(events(operator.log(), "round_settled")) >= 2)
        tell(f"\nup: first round after {started:.1f} s, ready with two settled after {time.monotonic() - begun:.1f} s")
        report = json.loads(await operator.says("health", "--json"))["report"]
        checks = {name: check["ok"] for name, check in report["checks"].items()}
        assert (report["status"], checks["dispatches"], checks["answers"], checks["store"]) == ("ok", True, True, True)

        miners.answerer = held = Held()
        await held.requested.wait()
        in_hand = int(events(operator.log(), "round_started")[-1]["round_id"])
        stopping = asyncio.create_task(operator.compose("stop"))
        await operator.until(lambda: len(events(operator.log(), "daemon_stopping")) == 1)
        assert operator.state()["Running"]
        begun = time.monotonic()
        held.release.set()
        await stopping
        tell(f"stop: ended with 0 {time.monotonic() - begun:.1f} s after the last answer of the round in hand")
        assert operator.state()["ExitCode"] == 0
        drained = await rounds(operator)
        assert (max(drained), drained[in_hand]["state"]) == (in_hand, "settled")

        miners.answerer = held = Held()
        await operator.compose("up", "--no-build", "--detach", "validator")
        await held.requested.wait()
        docker("kill", operator.container)
        assert operator.state()["ExitCode"] == 137
        held.release.set()
        killed = await rounds(operator)
        assert killed[in_hand + 1]["state"] == "open"
        await operator.compose("up", "--no-build", "--detach", "validator")
        settled, begun = len(events(operator.log(), "round_settled")), time.monotonic()
        await operator.until(lambda: len(events(operator.log(), "round_settled")) > settled)
        tell(f"kill and up: a round settled {time.monotonic() - begun:.1f} s later; the killed one is void, no other")
        assert len(events(operator.log(), "round_resumed")) == 1
        await operator.compose("stop")

        after = await rounds(operator)
        assert sorted(after) == list(range(len(after)))
        # Requests were open when it was killed: that round counts for nobody, each other one once.
        assert [number for number, row in after.items() if row["state"] != "settled"] == [in_hand + 1]
        assert after[in_hand + 1]["state"] == "void"
        assert {number: after[number] for number in drained} == drained
        await operator.alone("audit", "export", "--out", "/data/log.jsonl")
        await operator.alone("audit", "verify", "/data/log.jsonl")
        await operator.alone("replay", "--all")
        await operator.alone("db", "check")


async def test_what_no_restart_betters_waits_unhealthy_and_ends_with_its_code(image: str, tmp_path: Path) -> None:
    async with operated(tmp_path, image) as (operator, _):
        operator.settings.write_text(SETTINGS.format(netuid=2))
        await operator.compose("up", "--no-build", "--detach", "validator")
        await operator.until(lambda: len(events(operator.log(), "daemon_parked")) == 1)
        told = events(operator.log(), "daemon_parked")[0]
        failed = events(operator.log(), "daemon_failed")[0]
        assert (told["exit_code"], told["reason"]) == (failed["exit_code"], failed["reason"])
        shown = await operator.says("health", code=1)
        assert "parked (unhealthy): " in shown
        assert f"Seen: exit code {told['exit_code']}: {told['reason'][:40]}" in shown
        assert (operator.state()["Running"], operator.state()["RestartCount"]) == (True, 0)
        await operator.compose("stop")
        assert operator.state()["ExitCode"] == told["exit_code"] != 0

        operator.settings.write_text(SETTINGS.format(netuid=1))
        await operator.compose("up", "--no-build", "--detach", "validator")
        await operator.until(lambda: len(events(operator.log(), "round_settled")) >= 1)
