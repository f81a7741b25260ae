"""The clock of the machine jumps under a daemon: a preloaded library moves it, and so the simulated chain."""

import asyncio
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from daemon_process import Miners, Site, until

from sssa.protocol.task import Windows
from validator.daemon.exits import Exit
from validator.rounds.facts import PASSED
from validator.store import open_store

SHIM = Path(__file__).parents[1] / "core" / "clock_shim.c"
COMPILER = shutil.which("cc")
WINDOWS = Windows((0, 30), (0, 30))
JUMPS = (300, 290, 4_000)  # of the clock against the true one, seconds: ahead, back a little, ahead again
GO_ON = 2  # rounds that settle after each

pytestmark = [
    pytest.mark.attack,
    pytest.mark.skipif(COMPILER is None or sys.platform != "linux", reason="needs Linux and a C compiler"),
]


@pytest.fixture
async def miners() -> AsyncIterator[Miners]:
    miners = Miners()
    await miners.start()
    yield miners
    await miners.close()


def compiled(library: Path) -> Path:
    subprocess.run([str(COMPILER), "-shared", "-fPIC", "-O1", "-o", library, SHIM], check=True)
    return library


def settled(site: Site, many: int) -> Callable[[], bool]:
    return lambda: site.logged("round_settled") >= many


async def test_rounds_settle_and_nobody_is_charged_while_the_clock_jumps(
    miners: Miners, sqlite_url: str, tmp_path: Path
) -> None:
    clock, library = tmp_path / "clock", compiled(tmp_path / "clock.so")
    clock.write_bytes(bytes(8))
    site = Site(tmp_path, sqlite_url, miners, WINDOWS, each=1)
    async with site.daemon({"LD_PRELOAD": str(library), "CLOCK_OFF": str(clock)}) as process:
        for jump in (0, *JUMPS):
            with clock.open("r+b") as file:  # in place: the library has mapped it
                file.write(jump.to_bytes(8, "little", signed=True))
            await until(settled(site, site.logged("round_settled") + GO_ON), site, seconds=120)
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 60) == Exit.FINE, site.log.read_text()[-3000:]
    log = site.log.read_text()
    assert '"round_failed"' not in log
    assert '"bug_' not in log
    async with open_store(sqlite_url) as store, store.read() as tx:
        rounds = await tx.rounds.listing(1000)
        asked = [one for record in rounds for one in await tx.dispatches.of_round(record.round_id)]
        moments = [record.started_at for record in rounds]
        assert await tx.weight_guard.locked() is None
    assert (max(moments) - min(moments)).total_seconds() > JUMPS[-1], "the clock did not jump"
    assert not [(one.key, one.reason) for one in asked if one.state == "failed"]
    assert {one.reason for one in asked} <= {*PASSED, None}
