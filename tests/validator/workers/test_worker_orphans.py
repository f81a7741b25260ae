"""Workers end with the process that started them, even when it is killed while C code holds their GIL."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

PARENT = """
import asyncio, sys
from functools import partial
from worker_jobs import spin_in_c
from validator.workers.interface import Budget
from validator.workers.interface import Whose
from validator.workers.pool import WorkerPool

async def main():
    pool = WorkerPool(2, budget=Budget(cpu_s=100))
    spinning = [asyncio.ensure_future(pool.run(Whose(str(i)), lambda: partial(spin_in_c))) for i in range(2)]
    idle = asyncio.ensure_future(pool.run(Whose("x"), lambda: partial(len, b""), urgent=True))
    await idle
    while len(pool._all) < 3 or not all(worker._talking for worker in pool._all if worker not in pool._idle):
        await asyncio.sleep(0.01)
    print(*(worker.process.pid for worker in pool._all), flush=True)
    await asyncio.gather(*spinning)

asyncio.run(main())
"""


def computed(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11])


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"  # nobody may be there to reap what was adopted


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the budget of CPU time ends them")
async def test_kill_9_of_the_parent_leaves_no_worker_even_while_c_code_spins() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PARENT, stdout=asyncio.subprocess.PIPE, env=environment
    )
    try:
        assert parent.stdout is not None
        pids = [int(pid) for pid in (await parent.stdout.readline()).split()]
        assert len(pids) == 3
        while sum(computed(pid) > 10 for pid in pids) < 2:  # noqa: ASYNC110 - another process has no event to wait for
            await asyncio.sleep(0.01)
    finally:
        parent.send_signal(signal.SIGKILL)
        await parent.wait()
    async with asyncio.timeout(20):
        while any(alive(pid) for pid in pids):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
