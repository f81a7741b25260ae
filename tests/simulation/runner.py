"""Processes of the simulation: one fork per seed, with a limit of real time and a guard against real things."""

import faulthandler
import gc
import json
import os
import pickle
import shutil
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from select import select
from typing import Any, BinaryIO, Final

from simulation.faults import Fault, draw
from simulation.history import History, Played
from simulation.universe import canary_of
from sssa.protocol.skill_types import ASSESSED_TYPES

LIMIT_S: Final = 900.0  # of real time for one seed; what takes longer waits for something real
_REAL: Final = ("socket.connect", "socket.bind", "subprocess.Popen", "os.fork", "os.system", "time.sleep")
_ROOT: Final = Path(__file__).parents[2]


class RealThingError(BaseException):
    """A simulated daemon started a thread, a process or a sleep, or opened a socket."""


def warm_up() -> None:
    """Play a short history in this process: what is imported and compiled once serves every fork."""
    gc.disable()
    outcome = _played(0, [])
    if outcome.error is not None:
        raise SystemExit(f"the history without faults fails:\n{outcome.error}")
    for skill_type in ASSESSED_TYPES:
        canary_of(skill_type)
    gc.collect()
    gc.freeze()


def play_all(seeds: Iterable[int], jobs: int) -> Iterator[Played]:
    """Yield each seed's history, as they end; so many at a time."""
    waiting = list(seeds)[::-1]
    running: dict[BinaryIO, tuple[int, int]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                seed = waiting.pop()
                process, answer = _fork(seed, draw(seed))
                running[answer] = (process, seed)
            for answer in select(list(running), [], [])[0]:
                process, seed = running.pop(answer)
                yield _read(answer, process, seed, draw(seed))
    finally:
        for process, _ in running.values():
            os.kill(process, signal.SIGKILL)


def play(seed: int, faults: Sequence[Fault]) -> Played:
    """Play one history in a fork."""
    process, answer = _fork(seed, faults)
    return _read(answer, process, seed, faults)


def shrink(seed: int, faults: Sequence[Fault]) -> list[int]:
    """Return the numbers of a smaller list of faults with which the seed still fails: one is left out at a time."""
    kept = list(range(len(faults)))
    for number in reversed(range(len(faults))):
        fewer = [one for one in kept if one != number]
        if play(seed, [faults[one] for one in fewer]).error is not None:
            kept = fewer
    return kept


def _fork(seed: int, faults: Sequence[Fault]) -> tuple[int, BinaryIO]:
    reading, writing = os.pipe()
    sys.stdout.flush()
    process = os.fork()
    if process:
        os.close(writing)
        return process, os.fdopen(reading, "rb")
    os.close(reading)
    try:
        faulthandler.dump_traceback_later(LIMIT_S, exit=True)
        _forbid_real_things()
        outcome = _played(seed, faults)
        with os.fdopen(writing, "wb") as pipe:
            pickle.dump(outcome, pipe)
    except BaseException:  # noqa: BLE001 - the parent is told by the empty pipe
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(0)


def _read(answer: BinaryIO, process: int, seed: int, faults: Sequence[Fault]) -> Played:
    with answer:
        data = answer.read()
    os.waitpid(process, 0)
    if data:
        return pickle.loads(data)  # type: ignore[no-any-return]
    return Played(seed, faults, f"no answer within {LIMIT_S:g} s: its stack is above")


def _played(seed: int, faults: Sequence[Fault]) -> Played:
    shared = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="sssa-simulation-", dir=shared if os.access(shared, os.W_OK) else None))
    outcome = Played(seed, faults)
    history = None
    try:
        history = History(seed, faults, folder)
        outcome.rounds = history.play()
        outcome.digest = history.digest()
    except BaseException as error:  # noqa: BLE001 - whatever it is, it broke the history
        frames = "".join(traceback.format_exception(error)[-12:])
        outcome.error = f"{type(error).__name__}: {error}\n{frames}"
    finally:
        if history is not None:
            outcome.counts, outcome.steps = history.faults.counts, history.steps.count
            outcome.last = (*history.steps.last, *(str(line)[:400] for line in history.log[-8:]))
        shutil.rmtree(folder, ignore_errors=True)
    return outcome


def _forbid_real_things() -> None:
    def refuse(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _REAL:
            raise RealThingError(f"{event} {arguments!r}")

    def no_thread(thread: threading.Thread) -> None:
        raise RealThingError(f"thread {thread.name}")

    sys.addaudithook(refuse)
    threading.Thread.start = no_thread  # type: ignore[assignment,method-assign]  # the standard library's: no module of ours


def digests(seeds: Sequence[int], hash_seeds: Sequence[int]) -> list[dict[int, str]]:
    """Return each seed's digest as other processes get it, one with each of the hash seeds, at the same time."""
    import subprocess  # noqa: PLC0415 - never in a fork

    command = [sys.executable, "-m", "simulation", "digests", *map(str, seeds)]
    environs = [os.environ | {"PYTHONHASHSEED": f"{one}"} for one in hash_seeds]
    others = [subprocess.Popen(command, cwd=_ROOT, env=one, stdout=subprocess.PIPE) for one in environs]
    lines = (one.communicate()[0].splitlines()[-1] for one in others)
    return [{int(seed): digest for seed, digest in json.loads(line).items()} for line in lines]
