"""Eight of nine miners answer 500 to a real daemon: log, /readyz and `validator status` name it before the vector."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from daemon_process import Miners, Site, free_port, honest, until

from sssa.protocol.answer import Dispatch
from sssa.protocol.signatures import Signer
from sssa.protocol.task import Windows

pytestmark = [pytest.mark.faults, pytest.mark.timeout(200)]


@pytest.fixture
async def miners() -> AsyncIterator[Miners]:
    miners = Miners(9)
    await miners.start()
    yield miners
    await miners.close()


def lines(site: Site, *events: str) -> list[dict[str, Any]]:
    found = (json.loads(line) for line in site.log.read_text().splitlines() if line.startswith("{"))
    return [line for line in found if line["event"] in events]


async def test_an_outage_of_most_miners_is_named_before_the_next_vector(
    miners: Miners, sqlite_url: str, tmp_path: Path
) -> None:
    healthy = {miners.signers[0].hotkey}
    out = asyncio.Event()

    async def answer(signer: Signer, dispatch: Dispatch, request: web.Request) -> bytes | web.StreamResponse:
        if out.is_set() and signer.hotkey not in healthy:
            return web.Response(status=500)
        return await honest(signer, dispatch, request)

    miners.answerer = answer
    site = Site(tmp_path, sqlite_url, miners, Windows((0, 20), (0, 20)), free_port(), each=1)

    def settled(number: int) -> bool:
        return site.logged("round_settled") >= number

    async with site.forked() as daemon:
        await until(lambda: settled(3), site)
        out.set()
        began = site.logged("round_started")  # the first round that is out from its start
        await until(lambda: settled(began + 5), site)
        url = f"http://127.0.0.1:{site.health_port}"
        async with aiohttp.ClientSession() as session, session.get(f"{url}/readyz") as ready:
            report = await ready.json()
            async with session.get(f"{url}/healthz") as alive:
                assert (ready.status, alive.status, report["status"]) == (200, 200, "degraded")
        (found,) = [each for each in report["conditions"] if each["name"] == "miners_out"]
        assert found["detail"].startswith("8 of 9 miners that answered in the last day are out (")
        page = await site.output_of("status", "--no-chain")
        assert page.startswith("A validator runs: degraded: miners_out")
        assert "8 of 9 miners that answered in the last day are out (" in " ".join(page.split())
        out.clear()  # excluded miners come back as their failures leave the last 30 rounds
        sent = site.logged("weights_submitted")
        await until(lambda: site.logged("weights_submitted") > sent, site)
        daemon.terminate()
        await daemon.wait()
    log = lines(site, "round_settled", "weights_submitted", "condition_raised")
    hit = next(n for n, line in enumerate(log) if line["event"] == "round_settled" and int(line["round_id"]) >= began)
    (raised,) = [n for n, line in enumerate(log) if line.get("condition") == "miners_out"]
    assert raised < next(n for n, line in enumerate(log[hit:], hit) if line["event"] == "weights_submitted")
