"""The run of `validator localnet up`: from an empty chain node to a vector on chain that pays reference miners."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import NamedTuple

from localnet.onchain.alice import Alice
from localnet.onchain.files import Keys, keys_in, known_netuid, settings_in, tasks_in
from localnet.onchain.miners import serve_miners
from localnet.onchain.options import UpOptions
from localnet.onchain.outcome import Outcome, Tally, UpScreen, compared
from localnet.onchain.safety import Look
from localnet.onchain.subnet import (
    activate,
    chain_knobs,
    find_or_make,
    register,
    require_ready,
    set_all,
    stake,
    subnet_knobs,
)
from sssa.protocol.errors import ValidatorError
from sssa.sources import Clock, SystemClock
from validator.cancellation import unless_set
from validator.chain.opening import real_chain
from validator.daemon.assembly import assembled
from validator.daemon.daemon import Daemon
from validator.daemon.signals import Stop
from validator.daemon.start import check_start
from validator.daemon.world import World, build_world
from validator.settings.model import Settings


class NothingLandedError(ValidatorError):
    """No vector that pays a miner landed."""


class _Ready(NamedTuple):
    """Prepared environment of the validator: its settings, all keys, the tempo."""

    settings: Settings
    keys: Keys
    tempo: int


async def bring_up(options: UpOptions, look: Look, screen: UpScreen, stop: Stop) -> Outcome | None:
    """Make the subnet ready, run miners and validator until a vector has landed; with `stay` until a stop is requested.

    Args:
        options: what to bring up.
        look: at the chain: a development one.
        screen: shows how it gets on.
        stop: what ends it early.

    Returns:
        The vector that landed, None if it was stopped before.

    Raises:
        NothingLandedError: no vector that pays a miner landed in time; the text says the result of the dispatches.
        ValidatorError, OSError: a part cannot start, or the chain refused something, named by its error.
    """
    clock, ready_sides = SystemClock(), list[_Ready]()
    async with AsyncExitStack() as stack:

        async def begin() -> None:
            ready = await _chain_side(options, look, screen.stage, clock)
            screen.stage(f"starting {options.miners} miners at {options.host}")
            own = await asyncio.to_thread(tasks_in, options)
            validator = ready.keys.validator.hotkey
            await serve_miners(ready.settings, ready.keys.miners, validator, options.host, own, clock, stack)
            ready_sides.append(ready)

        if not await unless_set(stop.requested, begin):
            return None
        blocks = options.patience(look.block_s, ready_sides[0].tempo)
        screen.stage("running the validator")
        return await _validate(ready_sides[0], look.genesis, blocks, screen, stop, stay=options.stay)


async def _chain_side(options: UpOptions, look: Look, stage: Callable[[str], None], clock: Clock) -> _Ready:
    """Bring about on the chain what the network needs."""
    alice = Alice(look.url, clock, stage)
    try:
        known = known_netuid(options, look.url)
        tempo = options.tempo_at(look.block_s)
        stage("making keys")
        keys = await asyncio.to_thread(keys_in, options.folder, options.miners)
        stage("setting what holds for the whole chain")
        unchanged = [*await set_all(alice, chain_knobs())]
        stage("making a subnet" if known is None else f"looking for subnet {known}")
        netuid = await find_or_make(alice, known, keys.owner.hotkey)
        # Written before the rest, so that a second try continues with this subnet.
        settings = await asyncio.to_thread(settings_in, options, look.url, netuid, tempo)
        stage(f"setting up subnet {netuid}, tempo {tempo}")
        unchanged += await set_all(alice, subnet_knobs(netuid, tempo))
        for line in unchanged:
            stage(f"not changed: {line}")
        await activate(alice, netuid)
        stage("registering")
        for signer in (keys.validator, *keys.miners):
            await register(alice, netuid, signer.hotkey)
        if not await _has_stake(settings, keys, clock):
            await stake(alice, netuid, keys.validator.hotkey)
        await require_ready(alice, netuid, tempo)
        return _Ready(settings, keys, tempo)
    finally:
        await alice.close()


async def _has_stake(settings: Settings, keys: Keys, clock: Clock) -> bool:
    chain = real_chain(settings, keys.validator, clock)
    try:
        me = (await chain.snapshot()).by_hotkey(keys.validator.hotkey)
    finally:
        await chain.close()
    return me is not None and me.stake_tao > 0


async def _validate(  # noqa: PLR0913 - the validator, what it is watched for, and for how long
    ready: _Ready, genesis: str, blocks: int, screen: UpScreen, stop: Stop, *, stay: bool
) -> Outcome | None:
    """Run the validator as `validator run` does, next to a look at the chain after each block."""
    settings, tally = ready.settings, Tally()
    world = replace(build_world(settings), listeners=(screen, tally))
    names = {miner.hotkey: f"miner{number}" for number, miner in enumerate(ready.keys.miners, 1)}
    async with assembled(settings, world) as daemon:
        await check_start(world.chain, world.clock, settings, world.signer.hotkey, daemon.store)

        async def watch() -> Outcome:
            try:
                outcome = await _landed(daemon, world, genesis, names, tally, blocks)
                screen.landed(outcome)
            except BaseException:
                stop.requested.set()
                raise
            if not stay:
                stop.requested.set()
            return outcome

        watching = asyncio.create_task(watch())
        try:
            await daemon.run(stop)
        finally:
            watching.cancel()
            (watched,) = await asyncio.gather(watching, return_exceptions=True)
        if isinstance(watched, asyncio.CancelledError):
            return None
        if isinstance(watched, BaseException):
            raise watched
        return watched


async def _landed(  # noqa: PLR0913, PLR0917 - see above
    daemon: Daemon, world: World, genesis: str, names: Mapping[str, str], tally: Tally, blocks: int
) -> Outcome:
    """Wait for a vector of this run that the chain shows and that pays a miner.

    Raises:
        NothingLandedError: none within so many blocks.
    """
    mechid = daemon.settings.weights.assessment_mechid
    started, first = world.clock.now(), (await world.chain.head()).number
    number = first
    while number < first + blocks:
        async with daemon.store.read() as tx:
            record = await tx.weights.latest(mechid)
        if record is not None and record.state == "confirmed" and record.created_at >= started:
            snapshot = await world.chain.snapshot()
            me = snapshot.by_hotkey(world.signer.hotkey)
            row = {} if me is None else await world.chain.weights(mechid, me.uid)
            outcome = compared(genesis, world.signer.hotkey, names, record, row, snapshot, tally)
            if outcome.paid:
                return outcome
        number = (await world.chain.wait_for_block(number + 1)).number
    raise NothingLandedError(f"{blocks} blocks have passed; {tally.sentence()}")
