"""Validators of a local network: same miners, own hotkeys and store files; renames the store of an earlier run."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from localnet.population import Population
from sssa.protocol.errors import ValidatorError
from sssa.protocol.signatures import Signer
from sssa.sources import SeededRandom
from validator.daemon.assembly import assembled
from validator.daemon.daemon import Daemon
from validator.daemon.signals import Stop
from validator.daemon.start import settle_chain
from validator.daemon.world import World
from validator.rounds.facts import EndedRound, RoundListener
from validator.rounds.prepare import Prepared
from validator.rounds.receipts import close_epoch
from validator.settings.model import Settings
from validator.settings.urls import SecretUrl
from validator.store import open_store, schema_state
from validator.store.urls import parse_url


class UsedStoreError(ValidatorError):
    """The local network needs an empty store."""


async def set_aside(url: str) -> Path | None:
    """Move an earlier run's SQLite file to `<name>.previous`; return where it is now, None if there was none.

    Raises:
        UsedStoreError: a Postgres database that holds rounds already.
        StoreError: another run uses the store, or it is none.
    """
    if await schema_state(url) == "empty":
        return None
    async with open_store(url, writer=True) as store, store.read() as tx:
        used = bool(await tx.rounds.next_id())
    path = parse_url(url).path
    if not used:
        return None
    if path is None:
        raise UsedStoreError("set store.url to a new database, or drop this one's tables")
    previous = path.with_name(path.name + ".previous")
    for suffix in ("", "-wal", "-shm", ".lock"):
        source = path.with_name(path.name + suffix)
        target = previous.with_name(previous.name + suffix)
        target.unlink(missing_ok=True)
        if source.exists():
            source.rename(target)
    return previous


_DEFAULT_KEY = "//Validator"


@dataclass(frozen=True, slots=True)
class Seat:
    """Private parts of one validator.

    Attributes:
        number: from 1.
        settings: the operator's, with its own store.
        signer: its hotkey.
        random: its draws and nonces.
    """

    number: int
    settings: Settings
    signer: Signer
    random: SeededRandom


class Watcher(Protocol):
    """Shows how the network gets on."""

    def stage(self, text: str) -> None:
        """Say what is being done now."""

    def doing(self, text: str) -> None:
        """Show what is being done now, where that can be taken away again."""

    def started(self, prepared: Prepared) -> None:
        """Show a round that the first validator started."""

    def ended(self, end: EndedRound, validator: int) -> None:
        """Show a round of a validator that ended."""


@dataclass(slots=True)
class Director:
    """Ends a validator's rounds after so many and lets residents join when theirs comes.

    Attributes:
        ends: its rounds so far, without the answers.
    """

    seat: Seat
    watcher: Watcher
    population: Population
    rounds: int
    stop_rounds: Callable[[], None] = lambda: None
    ends: list[EndedRound] = field(default_factory=list)

    def started(self, prepared: Prepared) -> None:
        """Show it, of the first validator."""
        if self.seat.number == 1:
            self.watcher.started(prepared)

    def ended(self, end: EndedRound) -> None:
        """Show it; register who joins next, or stop."""
        light = end.returned and replace(end.returned, judged={})
        self.ends.append(replace(end, returned=light))
        self.watcher.ended(end, self.seat.number)
        self.population.register(int(end.round_id) + 1)
        if len(self.ends) >= self.rounds:
            self.stop_rounds()


def seats(settings: Settings, seed: str, many: int) -> Sequence[Seat]:
    """Return so many seats; the first one's settings are those that are given."""
    uri = settings.wallet.uri or _DEFAULT_KEY
    first = Seat(1, settings, Signer.from_uri(uri), SeededRandom(seed))
    others = (
        Seat(
            number, _own_store(settings, number), Signer.from_uri(f"{uri}//{number}"), SeededRandom(f"{seed}-{number}")
        )
        for number in range(2, many + 1)
    )
    return (first, *others)


async def clear(seat: Seat, watcher: Watcher) -> None:
    """Set the store of an earlier run aside.

    Raises:
        ValidatorError: it cannot be.
    """
    previous = await set_aside(seat.settings.store.url.reveal())
    if previous is not None:
        watcher.stage(f"moved the last run's store to {previous.name}")


@asynccontextmanager
async def seated(
    seat: Seat, world: World, director: Director, others: Sequence[RoundListener] = ()
) -> AsyncIterator[Daemon]:
    """Yield the validator, put together and bound to the network's chain; close it afterwards.

    Args:
        seat: its private parts.
        world: what it meets.
        director: ends its rounds.
        others: listeners to its rounds, too.

    Raises:
        ValidatorError: a part cannot start.
    """
    async with assembled(seat.settings, replace(world, listeners=(*others, director))) as daemon:
        await settle_chain(daemon.store, await world.chain.genesis(), seat.settings.validator.netuid, world.clock)
        director.stop_rounds = daemon.rounds.stopping.set
        yield daemon


async def run_to_the_end(daemon: Daemon, stop: Stop, epochs_blocks: int) -> None:
    """Run until the rounds are over and weights that know all of them are on chain, or after so many blocks more.

    Nothing comes after this: an audit file of the run can be verified down to the last draw.
    """
    await daemon.run(stop, lambda: _weights_of_the_last_round(daemon, epochs_blocks))
    await close_epoch(daemon.store, daemon.rounds.signer, daemon.rounds.clock)


async def _weights_of_the_last_round(daemon: Daemon, blocks: int) -> None:
    chain, done = daemon.rounds.chain, daemon.rounds.clock.now()
    first = (await chain.head()).number
    for number in range(first + 1, first + blocks + 1):
        async with daemon.store.read() as tx:
            latest = await tx.weights.latest(daemon.settings.weights.assessment_mechid)
        if latest is not None and latest.created_at >= done and latest.state not in ("prepared", "submitted"):
            return
        await chain.wait_for_block(number)


def _own_store(settings: Settings, number: int) -> Settings:
    """Return settings with a SQLite file next to that of the first validator, or in this folder if it has none."""
    path = parse_url(settings.store.url.reveal()).path or Path("localnet.sqlite")
    url = SecretUrl(f"sqlite:///{path.with_name(f'{path.stem}-{number}{path.suffix}')}")
    health = settings.health.model_copy(update={"port": 0})
    return settings.model_copy(update={"store": settings.store.model_copy(update={"url": url}), "health": health})
