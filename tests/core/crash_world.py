"""A scripted chain that outlives the processes it kills, on blocks that come only while nobody computes."""

import asyncio
import pickle
import random
import signal
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from crash_child import BUSY, LOCKED, PLACES, Life, live
from fork_start import FORKS
from weights_in_log import told
from weights_world import KEY, ME, START, give_scores

from validator.chain.base import ChainError
from validator.chain.simulated import SimulatedChain
from validator.chain.subnet import Pending, SimulatedSubnet, SubnetRules
from validator.sources import VirtualClock
from validator.store import open_store

_MOST_KILLS = 4  # in one epoch: each may cost a submission's lifetime, and the epoch must have room for another
_AT_ANY_MOMENT = 0.02  # the chance at each look, a millisecond apart, from the process's first call on
_TEMPO = 59
_POOL = (0, 0, 1, 2, 3, None)  # blocks until inclusion; None: the pool loses it


@dataclass
class Sent:
    """One submission that reached the chain, and the epoch it was signed in."""

    epoch: int
    pending: Pending


@dataclass
class ScriptedChain:
    """Serves a simulated subnet on a socket.

    Attributes:
        sent: submissions of weights that reached it.
        anchors: commitments that did.
        waiting: calls that wait for a block.
        busy: other calls under way.
        calls: all that ever came.
        connections: who serves the open ones.
    """

    subnet: SimulatedSubnet
    clock: VirtualClock
    hotkey: str
    chance: random.Random
    faulty: bool = True
    sent: list[Sent] = field(default_factory=list)
    anchors: list[Pending] = field(default_factory=list)
    waiting: int = 0
    busy: int = 0
    calls: int = 0
    connections: set[asyncio.Task[None] | None] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.chain = SimulatedChain(self.subnet, self.hotkey)
        take = self.subnet.submit

        def noting(*args: Any, **kwargs: Any) -> Pending:
            pending = take(*args, **kwargs)
            self.sent.append(Sent(self.subnet.blocks.head().epoch, pending))
            return pending

        self.subnet.submit = noting  # type: ignore[method-assign]
        commit = self.subnet.submit_commitment

        def anchoring(*args: Any, **kwargs: Any) -> Pending:
            pending = commit(*args, **kwargs)
            self.anchors.append(pending)
            return pending

        self.subnet.submit_commitment = anchoring  # type: ignore[method-assign]

    @asynccontextmanager
    async def served(self, socket: Path) -> AsyncIterator[None]:
        server = await asyncio.start_unix_server(self._serve, socket)
        async with server:
            yield
            await asyncio.gather(*(task for task in self.connections if task is not None), return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.calls += 1
        task = asyncio.current_task()
        self.connections.add(task)
        try:
            size = int.from_bytes(await reader.readexactly(4), "big")
            name, args = pickle.loads(await reader.readexactly(size))
            answer = asyncio.create_task(self._answer(name, args))
            gone = asyncio.create_task(reader.read(1))
            await asyncio.wait({answer, gone}, return_when=asyncio.FIRST_COMPLETED)
            if answer.done():
                writer.write(answer.result())
                await writer.drain()
            # A peer that was killed waits no more; what it sent is on its way.
            for task in (answer, gone):
                task.cancel()
            await asyncio.gather(answer, gone, return_exceptions=True)
        except (OSError, EOFError):
            pass
        finally:
            writer.close()
            self.connections.discard(task)

    async def _answer(self, name: str, args: tuple[Any, ...]) -> bytes:
        waits = name in {"wait_for_block", "set_weights", "set_commitment"}
        self.waiting, self.busy = self.waiting + waits, self.busy + (not waits)
        try:
            if name == "set_weights":
                return pickle.dumps((True, await self._set_weights(*args)))
            if name == "set_commitment":
                content, valid_blocks = args
                return pickle.dumps((True, await self.chain.set_commitment(content, valid_blocks=valid_blocks)))
            return pickle.dumps((True, await getattr(self.chain, name)(*args)))
        except ChainError as error:
            return pickle.dumps((False, ChainError(error.detail)))
        finally:
            self.waiting, self.busy = self.waiting - waits, self.busy - (not waits)

    async def _set_weights(self, mechid: int, weights: dict[int, float], valid_blocks: int, head: int) -> Any:
        if self.faulty:
            self.chain.faults.delay = self.chance.choice(_POOL)
            self.chain.faults.broken = int(self.chance.random() < 0.15)
        return await self.chain.set_weights(mechid, weights, valid_blocks=valid_blocks, head=head)

    def taken(self) -> Counter[int]:
        """Return how many submissions of each epoch are on chain."""
        return Counter(s.epoch for s in self.sent if s.pending.result is not None and s.pending.result.accepted)


async def world_of(store_url: str, folder: Path, *, faulty: bool = True) -> tuple[ScriptedChain, Life]:
    clock = VirtualClock(START)
    rules = SubnetRules(
        seed="crash", genesis=int(START.timestamp()), block_time_s=1.0, tempo=_TEMPO, weights_rate_limit=5
    )
    subnet = SimulatedSubnet.create(rules, clock)
    subnet.register(ME, stake_tao=100.0, validator_permit=True)
    for number in range(8):
        subnet.register(f"miner{number}")
    async with open_store(store_url) as store:
        await give_scores(store, subnet, {f"miner{number}": 1.0 + number for number in range(8)})
    life = Life(store_url, str(folder / "chain"), str(folder / "stop-file"), KEY)
    return ScriptedChain(subnet, clock, ME, random.Random(store_url.partition(":")[0]), faulty), life


@dataclass
class Figures:
    """Results of a run."""

    kills: Counter[str] = field(default_factory=Counter)
    epochs: int = 0
    double: int = 0
    lost: int = 0
    sent: int = 0

    def __str__(self) -> str:
        places = ", ".join(f"{place} {count}" for place, count in sorted(self.kills.items()))
        return (
            f"{self.kills.total()} kills over {self.epochs} epochs: {self.double} double submissions,"
            f" {self.lost} epochs lost, {self.sent} sent in all ({places})"
        )


async def kill_at_random(chain: ScriptedChain, life: Life, kills: int) -> Figures:
    """Let processes live and be killed until there were so many kills; then let two more epochs end in peace."""
    figures, chance, in_epoch = Figures(), chain.chance, Counter[int]()
    process, fate, born, calls = None, "", 0, 0
    tempo = chain.subnet.rules.tempo + 1
    end: int | None = None
    while end is None or chain.subnet.blocks.number() < end:
        epoch = chain.subnet.blocks.number() // tempo
        if process is not None and process.exitcode is not None:
            if was_killed(process):
                figures.kills[fate] += 1
                in_epoch[epoch] += 1
                await chain.clock.advance(float(chance.choice((0, 0, 1))))
            process = None
        if figures.kills.total() >= kills and end is None:
            end = (epoch + 2) * tempo
        if process is None:
            process, fate = _born(life, chance, calm=end is not None or in_epoch[epoch] >= _MOST_KILLS)
            born, calls = epoch, chain.calls  # before its first call it has done nothing that could be half done
        elif fate == "calm" and end is None and epoch > born:
            await _end(process)  # far from any submission: not one of the kills that count
            process = None
        elif fate == "any moment" and chain.calls > calls and chance.random() < _AT_ANY_MOMENT:
            await _end(process)
        elif chain.waiting and not chain.busy:
            await chain.clock.advance(1.0)
            await asyncio.sleep(0.002)
        else:
            await asyncio.sleep(0.001)
    await _end(process)
    taken = chain.taken()
    figures.epochs = chain.subnet.blocks.number() // tempo
    figures.double = sum(count - 1 for count in taken.values())
    figures.lost = sum(taken[epoch] == 0 for epoch in range(figures.epochs))
    figures.sent = len(chain.sent)
    return figures


async def killed_at(chain: ScriptedChain, life: Life, place: str | None, epochs: int = 1) -> None:
    """Let a process live until it kills itself at the place; at none: until so many epochs are over."""
    process = FORKS.Process(target=live, args=(life._replace(place=place),))
    process.start()
    tempo = chain.subnet.rules.tempo + 1
    end = (chain.subnet.blocks.number() // tempo + epochs) * tempo
    loops = 2 if life.anchor_every else 1
    try:
        while process.exitcode is None and chain.subnet.blocks.number() < end:
            if chain.waiting >= loops and not chain.busy:
                await chain.clock.advance(1.0)
            await asyncio.sleep(0.002)
        assert (process.exitcode is None) == (place is None), f"not killed: {place}"
    finally:
        await _end(process)


async def hold_truth(chain: ScriptedChain, life: Life) -> None:
    """Check that the log's last entry on each vector matches the chain."""
    async with open_store(life.url) as store:
        log = await told(store)
    assert log.kinds[0] == "opening"
    taken = {s.epoch: s.pending for s in chain.sent if s.pending.result and s.pending.result.accepted}
    confirmed = {log.vectors[fate.weights][0].epoch: fate for fate in log.fates if fate.state == "confirmed"}
    assert confirmed.keys() == taken.keys()
    for epoch, fate in confirmed.items():
        result = taken[epoch].result
        assert result is not None
        assert fate.block == result.block


def was_killed(process: ForkServerProcess) -> bool:
    """Return whether the process was killed, rather than ending itself because the store was locked."""
    assert process.exitcode != LOCKED, "somebody else's weights were seen"
    if process.exitcode == BUSY:
        return False
    assert process.exitcode == -signal.SIGKILL
    return True


async def race(chain: ScriptedChain, life: Life, racers: int) -> Figures:
    """Let processes race for the first epoch's submission, none of them holding the store's lock."""
    processes = [FORKS.Process(target=live, args=(life._replace(writer=False),)) for _ in range(racers)]
    for process in processes:
        process.start()
    tempo = chain.subnet.rules.tempo + 1
    try:
        while chain.subnet.blocks.number() < tempo - 1:
            assert all(process.exitcode is None for process in processes)
            if chain.waiting == racers:
                await chain.clock.advance(1.0)
            await asyncio.sleep(0.001)
    finally:
        for process in processes:
            await _end(process)
    return Figures(epochs=1, double=chain.taken()[0] - 1, lost=int(not chain.taken()[0]), sent=len(chain.sent))


def _born(life: Life, chance: random.Random, *, calm: bool) -> tuple[ForkServerProcess, str]:
    kind = "" if calm else chance.choice(("place", "place", "call", "moment"))
    if kind == "place":
        life = life._replace(place=chance.choice(PLACES))
    elif kind == "call":
        life = life._replace(call=chance.randint(1, 30))
    process = FORKS.Process(target=live, args=(life,))
    process.start()
    return process, {"place": life.place or "", "call": "a call", "moment": "any moment"}.get(kind, "calm")


async def _end(process: ForkServerProcess | None) -> None:
    if process is not None:
        process.kill()
        await asyncio.to_thread(process.join)
