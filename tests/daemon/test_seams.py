"""Seams of the daemon: time, randomness, processes and everything outside come through one world."""

import ast
import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from socket import socket
from types import SimpleNamespace
from typing import Any, Final

from audit_file import export
from daemon_kit import settings_for
from virtual_time import passed
from workflow_world import ScriptedServices
from world import World as Crowd

from validator.chain.simulated import SimulatedChain
from validator.daemon.assembly import assembled
from validator.daemon.signals import Stop
from validator.daemon.watches import LoopWatch, StoreWatch
from validator.daemon.world import World
from validator.health.board import Board
from validator.protocol.canonical import sha256_hex
from validator.protocol.signatures import Signer
from validator.rounds.facts import EndedRound
from validator.rounds.prepare import Prepared
from validator.sources import SeededRandom, VirtualClock
from validator.store.connections import Handles, connect
from validator.tasks.goals import MemoryGoals
from validator.workers.interface import Here

PACKAGE: Final = Path(__file__).parents[2] / "validator"
TIMES: Final = ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "sleep")
DIRECT: Final = {
    "time": TIMES,
    "datetime": ("now", "today", "utcnow"),
    "os": ("fork", "forkpty", "getrandom", "popen", "posix_spawn", "system", "urandom"),
    "asyncio": ("create_subprocess_exec", "create_subprocess_shell"),
    "threading": ("Thread", "Timer"),
    "subprocess": ("Popen", "call", "check_call", "check_output", "run"),
    "uuid": ("uuid1", "uuid4"),
}
WHOLE: Final = {"multiprocessing", "random", "secrets"}
# Files and folders that reach for the machine themselves. Executors, `to_thread` and `asyncio.sleep` go through the
# running loop, which a simulation replaces.
ALLOWED: Final = {
    "sources.py": "the machine's clock and random bytes",
    "files.py": "names of files that are renamed a moment later, and the time limit of a pipe that is read",
    "workers/pool.py": "the processes of a pool, which the world brings",
    "daemon/entrypoint.py": "the process beside the daemon in the image",
    "telemetry/log.py": "the thread that writes the log",
    "daemon/signals.py": "the thread that ends a process whose loop stands still",
    "cli/": "commands of a terminal",
    "health/doctor/": "measurements before a start",
    "web/admission.py": "sessions and nonces of the process of `validator serve`",
}


def reached(tree: ast.AST) -> set[str]:
    """Names by which a module reaches for time, randomness, threads or processes of the machine."""
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=module), attr=name) if name in DIRECT.get(module, ()):
                found.add(f"{module}.{name}")
            case ast.Import(names=names):
                found |= {one.name for one in names if one.name.partition(".")[0] in WHOLE}
            case ast.ImportFrom(module=str(module), names=names):
                found |= {
                    f"{module}.{one.name}"
                    for one in names
                    if module.partition(".")[0] in WHOLE
                    or (module != "datetime" and one.name in DIRECT.get(module, ()))
                }
    return found


def test_time_randomness_threads_and_processes_come_from_sources_or_the_world() -> None:
    used, direct = set(), {}
    for file in sorted(PACKAGE.rglob("*.py")):
        name = str(file.relative_to(PACKAGE))
        if found := reached(ast.parse(file.read_text())):
            allowed = next(
                (one for one in ALLOWED if name == one or (one.endswith("/") and name.startswith(one))), None
            )
            used.add(allowed)
            if allowed is None:
                direct[name] = found
    assert direct == {}
    assert used - {None} == ALLOWED.keys()  # the list is as short as it can be


class Ends:
    """A listener that asks for a stop after so many rounds."""

    def __init__(self, stop: Stop, rounds: int) -> None:
        self.stop, self.remaining = stop, rounds

    def started(self, prepared: Prepared) -> None:
        """Wait for its end."""

    def ended(self, end: EndedRound) -> None:
        self.remaining -= end.outcome is not None
        if self.remaining == 0:
            self.stop.request()


class Closable(ScriptedServices):
    """Step services that note when they are closed."""

    closed = 0

    async def close(self) -> None:
        self.closed += 1


async def nowhere(_host: str, _port: int) -> Sequence[socket]:
    return ()


async def played(folder: Path) -> tuple[str, int]:
    """Let a whole daemon play two rounds of a world; return the digest of its log, and how many connections it made."""
    made, stop, signer = [], Stop(), Signer.from_uri("//Validator", "ed25519")
    crowd: Any = Crowd(None, miners=6, crypto="ed25519")  # type: ignore[arg-type]
    crowd.subnet.register(signer.hotkey, stake_tao=1000.0, validator_permit=True)

    async def counted(*arguments: Any, **options: Any) -> Any:
        made.append(await connect(*arguments, **options))
        return made[-1]

    settings = settings_for(f"sqlite:///{folder}/store.sqlite")
    world = World(
        chain=SimulatedChain(crowd.subnet, signer.hotkey),
        source=crowd.source,
        goals=MemoryGoals(),
        signer=signer,
        clock=crowd.clock,
        random=SeededRandom("seams"),
        canary=None,
        workers=Here(),
        miners=crowd.client,
        steps=(steps := Closable(crowd.clock, {})),
        handles=Handles(counted),
        listen=nowhere,
        listeners=(Ends(stop, 2),),
    )
    async with assembled(settings, world) as whole:
        daemon = replace(whole, services=[one for one in whole.services if not isinstance(one, LoopWatch)])
        assert await passed(crowd.clock, daemon.store, daemon.run(stop))
        digest = sha256_hex((await export(daemon.store, folder / "log.jsonl")).read_bytes())
    assert steps.closed == 1
    assert asyncio.all_tasks() == {asyncio.current_task()}
    return digest, len(made)


async def test_a_daemon_touches_its_world_alone_and_does_the_same_twice(tmp_path: Path) -> None:
    folders = tmp_path / "first", tmp_path / "second"
    for folder in folders:
        folder.mkdir()
    first, second = [await played(folder) for folder in folders]
    assert first[0] == second[0]
    assert min(first[1], second[1]) >= 2


async def test_a_probe_of_the_store_has_ended_when_its_watch_has() -> None:
    probing, over = asyncio.Event(), asyncio.Event()

    async def probe() -> None:
        probing.set()
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(3):
                await asyncio.sleep(0)
            over.set()

    clock = VirtualClock()
    store: Any = SimpleNamespace(probe=probe, waiting=0)
    watching = asyncio.create_task(StoreWatch(store, clock, Board(clock)).run())
    await probing.wait()
    watching.cancel()
    await asyncio.wait({watching})
    assert over.is_set()
    assert asyncio.all_tasks() == {asyncio.current_task()}
