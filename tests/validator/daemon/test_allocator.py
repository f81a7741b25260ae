"""A daemon's memory: few arenas whatever its threads do, large blocks given back, and imports out of garbage's way."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from daemon_process import Miners, Site

from sssa.protocol.task import Windows
from validator.daemon.allocator import ARENAS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the C library is another one")

SEEN = """
import ctypes, gc, json, os, signal, sys, tempfile, threading

THREADS, BIG, PINNED = 40, 1024 * 1024, 30

def arenas():
    libc = ctypes.CDLL(None)
    libc.fopen.restype = ctypes.c_void_p
    libc.malloc_info.argtypes = ctypes.c_int, ctypes.c_void_p
    libc.fclose.argtypes = (ctypes.c_void_p,)
    with tempfile.NamedTemporaryFile() as told:
        stream = libc.fopen(told.name.encode(), b"w")
        libc.malloc_info(0, stream)
        libc.fclose(stream)
        return told.read().count(b"<heap nr=")

def kept():
    from soak.process_memory import seen
    before = seen().kept_kb
    bytes(4 * BIG)  # a first large one, after which glibc by itself keeps such
    big, pins = [], []
    for _ in range(PINNED):
        big.append(bytes(BIG))
        pins.append(bytes(3_000))
    big.clear()
    return seen().kept_kb - before, len(pins)

def in_threads():
    together = threading.Barrier(THREADS)
    def work():
        held = bytes(10_000)
        together.wait()
        return held
    threads = [threading.Thread(target=work) for _ in range(THREADS)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()

def looked():
    in_threads()
    return {"arenas": arenas(), "kept_kb": kept()[0], "frozen": gc.get_freeze_count()}
"""
SETTLED = (
    SEEN
    + """
from validator.daemon.allocator import settle_allocator
settle_allocator()
print(json.dumps(looked()))
"""
)
STARTED = (
    SEEN
    + """
from pathlib import Path
from validator.cli.session import settings_of
from validator.daemon.main import run_daemon
from validator.daemon.signals import Signals

class Told(Signals):
    def started(self, grace_s):
        super().started(grace_s)
        print(json.dumps(looked()), flush=True)
        os.kill(os.getpid(), signal.SIGTERM)

signals = Told()
signals.listen()
sys.exit(run_daemon(settings_of(Path(sys.argv[1])), signals))
"""
)
MOST_KEPT_KB = 2_048  # of 30 MiB that were freed


def figures_of(program: str, *arguments: str, **environment: str) -> dict[str, int]:
    """Return the first line that a program prints apart from its log."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_"))}
    paths = {"PYTHONPATH": str(Path(__file__).parents[3] / "benchmarks")}
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=kept | paths | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    lines: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    found = [line for line in lines if "arenas" in line]
    assert done.returncode == 0, done.stderr + done.stdout
    return found[0]


def test_threads_share_few_arenas_and_large_blocks_go_back() -> None:
    found = figures_of(SETTLED)
    assert found["arenas"] <= ARENAS
    assert found["kept_kb"] <= MOST_KEPT_KB


def test_what_the_environment_says_stays() -> None:
    assert figures_of(SETTLED, MALLOC_ARENA_MAX="5")["arenas"] == 5
    assert figures_of(SETTLED, MALLOC_MMAP_THRESHOLD_=str(32 * 1024 * 1024))["kept_kb"] > 10 * MOST_KEPT_KB
    tuned = figures_of(SETTLED, GLIBC_TUNABLES="glibc.malloc.arena_max=3")
    assert tuned["arenas"] == 3


async def test_a_daemon_that_has_started_is_settled_so(tmp_path: Path) -> None:
    site = Site(tmp_path, f"sqlite:///{tmp_path}/store.sqlite", Miners(count=0), Windows((0, 30), (0, 30)))
    found = figures_of(STARTED, str(site.config))
    assert found["arenas"] <= ARENAS
    assert found["kept_kb"] <= MOST_KEPT_KB
    assert found["frozen"] > 100_000
