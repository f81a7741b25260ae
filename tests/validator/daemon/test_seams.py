"""Seams of the daemon: time, randomness, processes and everything outside come through one world."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from socket import socket
from types import SimpleNamespace
from typing import Any

from audit_file import export
from daemon_kit import settings_for
from virtual_time import passed
from workflow_builders import ScriptedServices
from world import World as Crowd

from localnet.chain.simulated import SimulatedChain
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.signatures import Signer
from sssa.sources import SeededRandom, VirtualClock
from validator.daemon.assembly import assembled
from validator.daemon.signals import Stop
from validator.daemon.watches import LoopWatch, StoreWatch
from validator.daemon.world import World
from validator.health.board import Board
from validator.rounds.facts import EndedRound
from validator.rounds.prepare import Prepared
from validator.store.connections import Handles, connect
from validator.tasks.goals import MemoryGoals
from validator.workers.interface import Here


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
