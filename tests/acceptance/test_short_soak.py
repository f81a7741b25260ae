"""`make soak` for some seconds: real processes, figures in a file, and a daemon that dies is reported."""

import asyncio
import io
import json
import os
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from process_watch import family
from rich.console import Console
from soak.__main__ import soaked
from soak.site import Site
from soak.watch import Watch, free_port

pytestmark = pytest.mark.attack


def test_a_short_soak_measures_everything_and_finds_nothing_broken(tmp_path: Path) -> None:
    page, out = io.StringIO(), tmp_path / "soak.json"
    folder = tmp_path / "site"
    folder.mkdir()
    code = soaked(folder, 12.0, out, Console(file=page, width=120))
    assert (code, "broken" in page.getvalue()) == (0, False), page.getvalue() + (folder / "validator.log").read_text()
    found = json.loads(out.read_text())
    assert found["settled"] >= 1
    assert found["events"]["round_settled"] == found["settled"]
    assert found["odd_lines"] == 0
    assert len(found["samples"]) >= 2
    last = found["samples"][-1]
    assert min(last[name] for name in ("rss_kb", "pss_kb", "descriptors", "threads", "store_bytes", "log_bytes")) > 0
    assert last["workers"] >= 1
    assert last["lag"]["inf"] > 100
    assert "canary_failed" not in found["events"]
    with closing(sqlite3.connect(next(folder.glob("*.sqlite")))) as store:
        ((canaries,),) = store.execute("select count(*) from tasks where provenance = 'canary'").fetchall()
    assert canaries >= 2, "two in every round; their hashes are noted where nothing was planted"


async def test_a_daemon_that_dies_ends_the_soak_and_is_told(tmp_path: Path) -> None:
    site = Site(tmp_path, free_port())
    site.write()
    watch = Watch(site, 300.0, Console(file=io.StringIO()), every_s=0.2)
    soaking = asyncio.create_task(watch.run())
    while not watch.samples:
        assert not soaking.done(), await soaking
        await asyncio.sleep(0.05)
    os.kill(daemon_of(os.getpid()), signal.SIGKILL)
    found = await asyncio.wait_for(soaking, 60)
    assert "the daemon died: exit -9" in found.broken[0]


def daemon_of(pid: int) -> int:
    """The validator among the processes that this one started."""
    found = [one for one in family(pid) if b"soak.daemon" in Path(f"/proc/{one}/cmdline").read_bytes()]
    return found[0]
