"""Two endpoints, one of them or both not well in every way: what is used, how soon, and who is named.

`make test-chain` prints the tables; docs/operators/connect.md has them in short.
"""

import asyncio
import gc
import json
import logging
import shutil
import sys
import time
from collections.abc import Callable, Coroutine, MutableMapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, TypeVar, cast

import pytest
from chain_worlds import ME, ServedWorld
from doctor_kit import Place, findings
from json_codec import speak_json
from rpc_proxy import NONCE, SUBMIT, Message
from structlog.testing import capture_logs
from two_endpoints import TROUBLES, EndpointTrouble, TwoEndpoints
from weights_world import NOWHERE, give_scores

from sssa.sources import SystemClock, SystemRandom
from validator.chain.endpoint_socket import EndpointSocket
from validator.chain.endpoints import Endpoints
from validator.chain.interface import ChainError, EndpointUse
from validator.chain.limits import LIMITS, Limits
from validator.cli.status import screen
from validator.daemon.start import check_start, settle_chain
from validator.health.status import Observer
from validator.settings.load import load_settings
from validator.settings.model import Settings, WeightsSettings
from validator.store import Store, open_store
from validator.store.errors import OtherStoreError
from validator.weights.plan import mechanisms
from validator.weights.service import WeightService
from validator.weights.watch import WeightsLock

pytestmark = pytest.mark.faults
T = TypeVar("T")
Log = list[MutableMapping[str, Any]]
HOUR: Final = 3_600
START_S: Final = 30.0  # a start takes at most so long with one endpoint that is well
REPORTED_S: Final = 60.0  # and with none it takes so long until that is said
USABLE: Final = (
    "2 s a call",
    "no notices",
    "other chain",
    "150 back",
    "stands still",
)  # an endpoint is used all the same
STILL: Final = 6  # blocks of 12 s: more than a minute


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, sdk_home: None) -> None:
    speak_json(monkeypatch)  # for all worlds of a test


async def slow_blocks(genesis: int) -> TwoEndpoints:
    """Return a world with the network's own pace and limits, an hour old."""
    return await TwoEndpoints.open("", {"block_time_s": 12.0, "tempo": 99, "genesis": genesis}, LIMITS)


@pytest.fixture
def folders(tmp_path: Path, sqlite_url: str) -> dict[EndpointTrouble | None, Path]:
    """Return a folder for each way, with a store that has tables."""
    found = {}
    for number, trouble in enumerate((None, *TROUBLES)):
        found[trouble] = tmp_path / str(number)
        found[trouble].mkdir()
        shutil.copy(sqlite_url.removeprefix("sqlite:///"), found[trouble] / "validator.sqlite")
    return found


async def each(
    run: Callable[[EndpointTrouble], Coroutine[Any, Any, T]], troubles: Sequence[EndpointTrouble] = TROUBLES
) -> list[T]:
    """Return what `run` returns for each way, all at the same time."""
    results = await asyncio.gather(*map(run, troubles), return_exceptions=True)
    failed = {trouble: one for trouble, one in zip(troubles, results, strict=True) if isinstance(one, BaseException)}
    assert not failed
    return [result for result in results if not isinstance(result, BaseException)]


async def settled(folder: Path, world: TwoEndpoints) -> tuple[Place, Settings]:
    """Return the settings of a validator whose store belongs to the chain."""
    place = Place.made(folder)
    place.on(*world.urls)
    settings = load_settings(place.write(), {})
    async with open_store(settings.store.url.reveal(), writer=True) as store:
        await settle_chain(store, world.subnet.blocks.identity, 1, world.clock)
    return place, settings


async def status_of(settings: Settings) -> str:
    observer = Observer(settings, hotkey=ME.hotkey)
    try:
        return "\n".join(screen(await observer.look()))
    finally:
        await observer.close()


async def doctor_of(place: Place) -> set[tuple[str, str]]:
    """Return what the doctor does not call well."""
    return {(one.about, one.status) for one in findings(await place.examined()) if one.status != "ok"}


def unhealthy_reasons(log: Log, url: str) -> list[str]:
    return [line["reason"] for line in log if line["event"] == "chain_endpoint_unhealthy" and line["endpoint"] == url]


async def test_a_favourite_that_is_not_well_at_the_start_costs_seconds_and_is_named(
    folders: dict[EndpointTrouble | None, Path], caplog: pytest.LogCaptureFixture
) -> None:
    genesis, one_at_a_time = int(time.time()) - HOUR, asyncio.Lock()

    async def started(trouble: EndpointTrouble | None) -> tuple[str, set[tuple[str, str]]]:
        world = await slow_blocks(genesis)
        try:
            place, settings = await settled(folders[trouble], world)
            if trouble is not None:
                world.set_trouble(trouble, since=STILL)
            favourite, second = world.urls
            began = time.monotonic()
            await check_start(world.chain, world.clock, settings, ME.hotkey)
            took = time.monotonic() - began
            assert took < START_S
            (reason,) = unhealthy_reasons(log, favourite) or ["it is well"]
            assert not unhealthy_reasons(log, second)
            shown = await status_of(settings)
            assert (f"endpoint   {favourite} is not used: " in shown) == (trouble is not None), shown
            assert f"endpoint   {second}" not in shown
            async with one_at_a_time:  # they start processes
                return f"{trouble}: started in {took:.0f} s; {reason}", await doctor_of(place)
        finally:
            await world.close()

    with capture_logs() as log:
        both_well = await started(None)
        unwell = await each(started)
    sys.stdout.write("\n" + "\n".join(line for line, _ in (both_well, *unwell)) + "\n")
    for line, seen in unwell:
        assert {about for about, _ in seen - both_well[1]} == {"endpoint 1"}, line
        assert not [record for record in caplog.records if record.name == "asyncio"], line


@pytest.mark.parametrize("moment", ["at the start", "midway"])
async def test_with_both_not_well_it_is_said_why_within_a_minute(
    moment: str, folders: dict[EndpointTrouble | None, Path]
) -> None:
    genesis = int(time.time()) - HOUR

    async def reported(trouble: EndpointTrouble) -> str:
        world = await slow_blocks(genesis)
        try:
            _, settings = await settled(folders[trouble], world)
            if moment == "midway":
                await world.chain.head()
            for which in (0, 1):
                world.set_trouble(trouble, which, since=STILL)
            began = time.monotonic()
            try:
                async with open_store(settings.store.url.reveal()) as store:
                    await check_start(world.chain, world.clock, settings, ME.hotkey, store)
                answer = "started"
            except (ChainError, OtherStoreError) as error:
                answer = error.detail
            took = time.monotonic() - began
            assert took < REPORTED_S
            use = world.chain.endpoint_use.unhealthy
            if trouble not in USABLE:
                assert answer != "started"
                assert all(url in answer for url in world.urls), answer
            for url, why in use.items():
                answer = answer.replace(url, "…")
                assert "NoneType" not in why
            assert "NoneType" not in answer
            return f"both {trouble}, {moment}: {answer} after {took:.0f} s; left: {sorted(use.values())}"
        finally:
            await world.close()

    lines = await each(reported)
    sys.stdout.write("\n" + "\n".join(lines) + "\n")


BLOCK_S: Final = 1.0
EPOCH: Final = 30  # blocks
DETECTED_BY_WAITING: Final = ("hangs", "2 s a call", "no notices", "stands still")  # for most of a short epoch
QUICK: Final = Limits(call_s=8.0, submit_s=8.0, no_block_s=32.0)


def loop_over(world: TwoEndpoints, store: Store) -> WeightService:
    settings = WeightsSettings(blocks_before_epoch_end=EPOCH - 4, timeout_s=8.0, valid_blocks=8)
    return WeightService(
        store=store,
        chain=world.chain,
        clock=world.clock,
        signer=ME,
        random=SystemRandom(),
        netuid=1,
        mechid=0,
        kinds=mechanisms(settings)[0],
        settings=settings,
        lock=WeightsLock(store, world.clock, NOWHERE),
    )


async def confirmed(store: Store) -> list[int]:
    async with store.read() as tx:
        return sorted(one.epoch for one in await tx.weights.listing(10) if one.state == "confirmed")


async def until_confirmed(store: Store, count: int) -> list[int]:
    while True:
        if len(epochs := await confirmed(store)) >= count:
            return epochs
        await asyncio.sleep(0.1)


@pytest.mark.parametrize("moment", ["midway", "in the submission"])
async def test_a_favourite_that_fails_later_costs_no_epoch(
    moment: str, folders: dict[EndpointTrouble | None, Path], caplog: pytest.LogCaptureFixture
) -> None:
    count = 2 if moment == "midway" else 3  # the epoch after that of the trouble, too

    async def served(trouble: EndpointTrouble) -> str:
        epoch = 2 * EPOCH if trouble in DETECTED_BY_WAITING else EPOCH
        rules = {"block_time_s": BLOCK_S, "tempo": epoch - 1, "genesis": int(time.time()) - HOUR}
        world = await TwoEndpoints.open("", rules, QUICK)
        favourite, second = world.urls
        async with open_store(f"sqlite:///{folders[trouble]}/validator.sqlite", writer=True) as store:
            await give_scores(store, world.subnet, {world.miners[1]: 1.0})
            running = asyncio.create_task(loop_over(world, store).run())
            try:
                (first,) = await asyncio.wait_for(until_confirmed(store, 1), 3 * epoch * BLOCK_S)
                if moment == "midway":
                    world.set_trouble(trouble)
                else:

                    def watch(seen: Message) -> None:
                        if seen == Message("request", NONCE):
                            world.proxy.before = lambda _: None
                            world.set_trouble(trouble)

                    world.proxy.before = watch
                epochs = await asyncio.wait_for(until_confirmed(store, count), 3.5 * epoch * BLOCK_S)
            finally:
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)
                await world.close()
        assert epochs == list(range(first, first + count)), trouble
        reasons = unhealthy_reasons(log, favourite)
        assert reasons, trouble
        assert not unhealthy_reasons(log, second), trouble
        return f"{trouble}, {moment}: {reasons[0]}"

    # A submission at 2 s a call is longer than these epochs; test_slow_node has one at a real pace.
    troubles = [trouble for trouble in TROUBLES if moment == "midway" or trouble != "2 s a call"]
    with capture_logs() as log:
        lines = await each(served, troubles)
    sys.stdout.write("\n" + "\n".join(lines) + "\n")
    gc.collect()  # who retrieved no exception of a task is told then
    assert not [one for one in caplog.records if one.name == "asyncio" and one.levelno >= logging.ERROR]


class ShiftedClock(SystemClock):
    """The machine's clock, some time ahead."""

    ahead_s = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead_s


async def test_a_submission_keeps_away_from_what_the_reader_has_left() -> None:
    world = await TwoEndpoints.open("", {}, QUICK)
    try:
        await world.chain.head()
        world.set_trouble("hangs")
        await world.chain.head()
        before = len(world.proxies[0].seen)
        result = await world.chain.set_weights(0, {min(world.miners): 1.0}, valid_blocks=8)
        assert result.accepted
        assert len(world.proxies[0].seen) == before
        assert Message("request", SUBMIT) in world.proxies[1].seen
    finally:
        await world.close()


async def test_a_favourite_that_is_well_again_is_used_again() -> None:
    world = await TwoEndpoints.open("", {"block_time_s": 12.0, "genesis": int(time.time()) - HOUR}, LIMITS)
    world.clock = clock = ShiftedClock()
    chain = world.connected(ME)
    favourite, second = world.urls
    try:
        with capture_logs() as log:
            await chain.head()
            assert chain.endpoint_use == EndpointUse(favourite, {})
            pauses = []
            for _ in range(2):
                world.set_trouble("JSON-RPC 429")
                await chain.head()
                assert chain.endpoint_use.used == second
                world.set_trouble(None)
                await chain.head()
                assert chain.endpoint_use.unhealthy == {favourite: "it refuses `chain_getHead`: 429 Too many requests"}
                pauses.append(log[-1]["seconds"])
                clock.ahead_s += log[-1]["seconds"] + 1.0
                while chain.endpoint_use.used != favourite or chain.endpoint_use.unhealthy:
                    await chain.head()
                    await asyncio.sleep(0.05)
        assert pauses == [600.0, 600.0]
        assert [line["event"] for line in log] == ["chain_endpoint_unhealthy", "chain_endpoint_healthy"] * 2
    finally:
        await world.close()


@pytest.mark.parametrize(
    ("trouble", "seen"),
    [
        ("null", "answer to `chain_getHead` is null, expected a string"),
        ("string error", "it refuses `chain_getHead`: rate limited"),
        ("JSON-RPC 429", "it refuses `chain_getHead`: 429 Too many requests"),
    ],
)
async def test_an_only_endpoint_is_kept_and_its_answers_are_named(trouble: EndpointTrouble, seen: str) -> None:
    world = await ServedWorld.open("", {})
    try:
        await world.chain.head()
        (connection,) = world.proxy.connections
        world.proxy.set_trouble(trouble)  # type: ignore[arg-type]
        for _ in range(3):
            with pytest.raises(ChainError) as caught:
                await world.chain.head()
            assert caught.value.detail == f"head: {world.proxy.url}: {seen}"
        assert world.proxy.connections == {connection}
        world.proxy.set_trouble(None)
        await world.chain.head()
        assert world.chain.endpoint_use == EndpointUse(world.proxy.url, {})
    finally:
        await world.close()


@pytest.mark.parametrize(
    ("sent", "passed"),
    [
        ('{"jsonrpc": "2.0", "id": 1, "result": "0x"}', {"jsonrpc": "2.0", "id": 1, "result": "0x"}),
        ('{"method": "chain_newHead", "params": {}}', {"method": "chain_newHead", "params": {}}),
        ('[5, "x", null, [], {"id": []}, {"id": "1"}]', []),
        ("5", []),
    ],
)
async def test_what_is_no_json_rpc_never_reaches_the_sdk(sent: str, passed: Any) -> None:
    async def recv() -> str:
        return sent

    endpoints = Endpoints(["ws://a"], SystemClock(), LIMITS)
    socket = EndpointSocket(cast("Any", SimpleNamespace(recv=recv)), "ws://a", endpoints, LIMITS)
    assert json.loads(await socket.recv()) == passed
