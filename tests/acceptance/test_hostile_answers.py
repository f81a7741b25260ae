"""Hostile answers against the daemon as a process: it lives, it stays small, and every one gets its reason (SPEC 5).

`make hostile` runs a thousand cases and prints how long the event loop was ever blocked.
"""

import os
import random
import socket
import sys
from collections import Counter
from pathlib import Path

import aiohttp
from aiohttp import web
from daemon_process import Miners, Site
from hostile import KINDS, Case, warm_up
from test_daemon_crash import reader, until

from validator.protocol.answer import Dispatch
from validator.protocol.reasons import Reason
from validator.protocol.signatures import Signer
from validator.protocol.task import Windows
from validator.store import Store

CASES = int(os.environ.get("HOSTILE_CASES", "180"))
MEMORY_LIMIT_KB = 300 * 1024
Expected = dict[tuple[str, str], tuple[str, frozenset[Reason]]]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def peak_memory_kb(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


async def dispatched(store: Store) -> Counter[str]:
    """States of all dispatches of rounds that ended."""
    states: Counter[str] = Counter()
    async with store.read() as tx:
        for record in await tx.rounds.listing(1000):
            if record.state == "settled":
                states.update(d.state for d in await tx.dispatches.of_round(record.round_id))
    return states


async def test_every_hostile_answer_gets_its_reason_and_the_daemon_lives(sqlite_url: str, tmp_path: Path) -> None:
    miners = Miners(count=max(40, CASES // 4))
    expected: Expected = {}
    rng = random.Random(7)

    async def hostile(signer: Signer, dispatch: Dispatch, request: web.Request) -> bytes | web.StreamResponse:
        make = KINDS[len(expected) % len(KINDS)]
        expected[dispatch.task_id, signer.hotkey] = (make.__name__, frozenset())
        answer, reasons = await make(Case(random.Random(rng.random()), signer, dispatch, request))
        expected[dispatch.task_id, signer.hotkey] = (make.__name__, reasons)
        return answer

    miners.answerer = hostile
    warm_up()
    await miners.start()
    port = free_port()
    site = Site(tmp_path, sqlite_url, miners, Windows((0, 12), (0, 12)), port)
    try:
        async with site.daemon() as process:
            store = await reader(sqlite_url, site)

            async def enough() -> bool:
                assert process.returncode is None, site.log.read_text()[-3000:]
                return (await dispatched(store)).total() >= CASES

            await until(enough, site, seconds=60 + CASES)
            memory = peak_memory_kb(process.pid)
            blocked = await loop_lag(port)
            await check_reasons(store, expected)
            await store.close()
    finally:
        await miners.close()
    sys.stdout.write(f"{len(expected)} hostile answers, peak memory {memory // 1024} MiB, timers late: {blocked}\n")
    assert memory < MEMORY_LIMIT_KB


async def check_reasons(store: Store, expected: Expected) -> None:
    wrong = []
    seen: Counter[str] = Counter()
    async with store.read() as tx:
        for record in await tx.rounds.listing(1000):
            if record.state != "settled":
                continue
            for dispatch in await tx.dispatches.of_round(record.round_id):
                key = (dispatch.key.task_id, dispatch.key.hotkey)
                if key not in expected:
                    wrong.append(("never asked", dispatch.reason, dispatch.detail))
                    continue
                kind, reasons = expected[key]
                seen[kind] += 1
                if reasons and dispatch.reason not in {str(reason) for reason in reasons}:
                    wrong.append((kind, dispatch.reason, dispatch.detail))
    assert wrong == []
    assert set(seen) == {kind.__name__ for kind in KINDS}


async def loop_lag(port: int) -> dict[str, int]:
    """How often a timer of the daemon ran later than each bound (seconds), from /metrics."""
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{port}/metrics") as response,
    ):
        text = await response.text()
    counts = {
        line.split('le="')[1].split('"')[0]: int(float(line.split()[-1]))
        for line in text.splitlines()
        if line.startswith("validator_loop_lag_seconds_bucket")
    }
    return {bound: counts["+Inf"] - count for bound, count in counts.items() if bound in ("0.05", "0.1", "0.5")}
