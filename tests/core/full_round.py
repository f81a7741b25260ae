"""A round of sixty attestations at their limit, an emoji in every text: what memory it takes, from answer to log."""

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Final, NamedTuple

import full_plans
from aiohttp import web
from daemon_process import PROGRAM, Miners, Site, until
from full_answers import FullAnswers, with_emoji
from process_watch import memory_watched

from sssa.protocol.answer import Dispatch
from sssa.protocol.signatures import Signer
from sssa.protocol.task import Windows
from validator.miners.scripted import ScriptedReply

_DEADLINE_S: Final = 60.0
_MINERS: Final = 5
_ANSWERS: Final = FullAnswers(512, 250, with_emoji)
_PEAK: Final = """
import os, sys, resource, subprocess
ended = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=2)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(ended.returncode)
"""


class Peaks(NamedTuple):
    """The most memory that each took, in MiB.

    Attributes:
        daemon: the process of the daemon, while it played the round.
        processes: the daemon with its workers; what they share counts once.
        replay, export, verify: the commands about that round.
    """

    daemon: float
    processes: float
    replay: float
    export: float
    verify: float


MOST_MIB: Final = Peaks(600.0, 1024.0, 300.0, 300.0, 300.0)


async def full_round(folder: Path, each: int = 2) -> Peaks:
    """Play a round with `each` tasks of each of six types and five answers to each; return what it took."""
    miners = Miners(_MINERS)
    miners.answerer = _full
    await miners.start()
    try:
        url = f"sqlite:///{folder}/store.sqlite"
        windows = Windows((0.0, _DEADLINE_S), (0.0, _DEADLINE_S))
        site = Site(folder, url, miners, windows, each=each)
        async with site.daemon() as process, memory_watched(process.pid) as memory:
            await until(lambda: site.logged("round_settled") > 0, site, 120)
            process.send_signal(signal.SIGTERM)
            await process.wait()
    finally:
        await miners.close()
    return Peaks(memory.daemon, memory.peak, *await _read(folder, site.config))


async def round_of_plans(folder: Path) -> Peaks:
    """Play a round of ten plans at their limits; return what it took, the miners and services being in the process."""
    _, config = full_plans.configured(folder)
    played = await _peak(sys.executable, str(Path(full_plans.__file__)), str(folder))
    return Peaks(played, played, *await _read(folder, config))


async def _read(folder: Path, config: Path) -> tuple[float, float, float]:
    log = str(folder / "log.jsonl")
    commands = ("replay", "0"), ("audit", "export", "--out", log), ("audit", "verify", log)
    replay, export, verify = [await _peak(*PROGRAM, *one, "--config", str(config)) for one in commands]
    return replay, export, verify


async def _full(signer: Signer, dispatch: Dispatch, _request: web.Request) -> bytes | web.StreamResponse:
    reply: ScriptedReply = await asyncio.to_thread(_ANSWERS, signer, dispatch)
    return reply.body


async def _peak(*arguments: str) -> float:
    command = [sys.executable, "-c", _PEAK, *arguments]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, env=dict(os.environ))
    out, _ = await process.communicate()
    if process.returncode:
        raise RuntimeError(f"{arguments} failed")
    return int(out) / 1024
