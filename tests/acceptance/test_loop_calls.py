"""A real daemon under load: no call on its event loop's thread takes more than 250 ms (docs/reliability.md)."""

import asyncio
import json
import re
import sys
from pathlib import Path

import pytest
from aiohttp import web
from daemon_process import Miners, Site, free_port, until
from full_answers import FullAnswers
from process_watch import metrics_of

from sssa.protocol.answer import Dispatch
from sssa.protocol.signatures import Signer
from sssa.protocol.task import Windows
from validator.daemon.exits import Exit

MOST_S = 0.25
ROUNDS = 3
FULL = FullAnswers(findings=20, text=200)
PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"


async def full(signer: Signer, dispatch: Dispatch, _request: web.Request) -> bytes:
    return (await asyncio.to_thread(FULL, signer, dispatch)).body


@pytest.mark.attack
async def test_no_call_on_the_loops_thread_takes_long_and_each_that_may_wait_is_in_the_table(
    sqlite_url: str, tmp_path: Path
) -> None:
    miners, measured = Miners(12), tmp_path / "calls.json"
    miners.answerer = full
    await miners.start()
    site = Site(tmp_path, sqlite_url, miners, Windows((0, 60), (0, 60)), free_port(), each=1)
    program = f"import loop_calls; loop_calls.watch({str(measured)!r}); from validator.cli import main; main()"
    with site.log.open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", program, "run", "--config", str(site.config)),
            stdout=log,
            stderr=log,
            env={"PYTHONPATH": str(Path(__file__).parents[1] / "core"), "PATH": ""},
        )
    try:
        await until(lambda: site.logged("round_settled") > 0, site, 120)
        while site.logged("round_settled") < ROUNDS:
            await asyncio.gather(
                metrics_of(site.health_port), site.output_of("db", "check"), site.output_of("audit", "export")
            )
        process.terminate()
        assert await asyncio.wait_for(process.wait(), 60) == Exit.FINE, site.log.read_text()[-3000:]
    finally:
        if process.returncode is None:
            process.kill()
        await miners.close()
    found = json.loads(measured.read_text())
    sys.stdout.write(json.dumps(found, indent=1))
    assert {name: took for name, took in found["slowest"].items() if took > MOST_S} == {}
    told = PAGE.read_text().partition("## Calls that block")[2].partition("\n## ")[0]
    assert {
        place for place in found["opened"] if place.rpartition(" ")[2] not in re.findall(r"`([^`]+)`", told)
    } == set()
