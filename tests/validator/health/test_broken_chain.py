"""The chain's side: what answers at the endpoints instead of a node, the clock, the hotkey's place on the subnet."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from aiohttp import web
from chain_worlds import ServedWorld
from doctor_kit import QUICK, FakeNode, Place, findings, listening, node, of_status, site
from setups import FILE_SETUPS
from subtensor_node import NEWER

AT_ONCE = QUICK._replace(endpoint=0.3)
MARKED = "\x1b[31m\x1b]0;x\x07[bold red]x[/] \u202e<b>`|`\r\n" * 100
NONSENSE = (
    None,
    -1,
    1e308,
    "0x" + "ff" * 300,
    "f" * 5_000,
    MARKED,
    [MARKED],
    {"number": MARKED},
    {"number": "f" * 5_000},
)
OTHER_GENESIS = "0x" + "22" * 32


async def _not_found(_: web.Request) -> web.Response:
    return web.Response(status=404)


async def _forbidden(_: web.Request) -> web.Response:
    return web.Response(status=403)


async def _deaf(request: web.Request) -> web.WebSocketResponse:
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    await asyncio.Event().wait()
    return socket


async def _nonsense(request: web.Request) -> web.WebSocketResponse:
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    async for _ in socket:
        await socket.send_str("hello \x1b[31m")
    return socket


@asynccontextmanager
async def answering(what: str) -> AsyncIterator[str]:
    """An endpoint at which something else answers; yields its url."""
    handlers = {"404": _not_found, "403": _forbidden, "deaf": _deaf, "nonsense": _nonsense}
    async with AsyncExitStack() as stack:
        if what in handlers:
            yield f"ws://127.0.0.1:{await stack.enter_async_context(site(handlers[what]))}/secret-key"
        elif what == "wrong scheme":
            yield f"wss://127.0.0.1:{await stack.enter_async_context(site(_not_found))}"
        elif what == "closed":
            async with listening(None) as port:
                pass
            yield f"ws://127.0.0.1:{port}"
        elif what == "polkadot":
            yield await stack.enter_async_context(node(FakeNode(chain="Polkadot\x1b[31m", spec="polkadot")))
        elif what == "refuses":
            yield await stack.enter_async_context(node(FakeNode(spec="")))
        else:
            said = {"mute": None, "ssh": b"SSH-2.0-OpenSSH_9.2\r\n", "hangs up": b""}[what]
            yield f"ws://127.0.0.1:{await stack.enter_async_context(listening(said))}"


@pytest.mark.parametrize(
    ("what", "seen", "advice"),
    [
        ("404", "/***: HTTP 404 instead of a websocket", "name the RPC port of a subtensor node"),
        ("403", "/***: HTTP 403 instead of a websocket", "look at the key in the url"),
        ("closed", "no connection: Connection refused", "start the node, or correct host and port"),
        ("mute", "no websocket within", "a firewall that drops looks like this, too"),
        ("deaf", "connected, but no answer within", "look at the node's load"),
        ("ssh", "something that speaks no HTTP", "name the RPC port of a subtensor node"),
        ("hangs up", "it closes the connection before it says a word", "is it ws:// or wss://?"),
        ("nonsense", "a websocket that does not speak JSON", "name the RPC port of a subtensor node"),
        ("wrong scheme", "no TLS is spoken there", "write ws:// instead of wss://"),
        ("polkadot", "a node of another chain, `Polkadot\\u001b[31m` (polkadot)", "name a subtensor node"),
    ],
)
async def test_what_answers_instead_of_a_node_is_named(what: str, seen: str, advice: str, place: Place) -> None:
    async with answering(what) as url:
        place.on(url)
        limits = AT_ONCE if what in {"mute", "deaf"} else QUICK
        (fault,) = findings(await place.examined("endpoints", limits=limits))
    assert (fault.about, fault.status) == ("endpoint 1", "fault")
    assert seen in fault.seen
    assert advice in fault.advice
    assert "secret-key" not in str(fault)


async def test_a_host_that_nobody_knows(place: Place) -> None:
    place.on("wss://no-such-host.invalid")
    (fault,) = findings(await place.examined("endpoints"))
    assert fault.status == "fault"
    assert "the host's name is not found" in fault.seen
    assert "chain.endpoints" in fault.advice


async def test_one_endpoint_that_answers_makes_the_others_warnings(place: Place) -> None:
    async with node() as good, answering("404") as bad:
        place.on(bad, good)
        found = await place.examined("endpoints")
    assert [(one.about, one.status) for one in findings(found)] == [("endpoint 1", "warning"), ("endpoint 2", "ok")]
    assert "it is used when the others do not answer" in findings(found)[0].advice
    assert "Bittensor, block 1000, runtime 424" in findings(found)[1].seen


async def test_endpoints_of_two_chains_are_a_fault(place: Place) -> None:
    async with node() as one, node(FakeNode(genesis=OTHER_GENESIS, chain="Test")) as other:
        place.on(one, other)
        (fault,) = of_status(await place.examined("endpoints"), "fault")
    assert "different chains: 1: Bittensor 0x11111111…, 2: Test 0x22222222…" in fault.seen


@pytest.mark.parametrize("late", [FakeNode(height=900), FakeNode(syncing=True)], ids=["behind", "syncing"])
async def test_a_node_that_lags_is_a_warning(late: FakeNode, place: Place) -> None:
    async with node() as one, node(late) as other:
        place.on(one, other)
        (warning,) = of_status(await place.examined("endpoints"), "warning")
    assert warning.about == "endpoint 2"
    assert "blocks behind the others" in warning.seen or "still catching up" in warning.seen


@pytest.mark.parametrize(
    ("ahead_s", "status", "seen", "advice"),
    [
        (0.0, "ok", "no more than 30 s off", ""),
        (120.0, "fault", "the clock is 1", "Set the clock right"),
        (
            -600.0,
            "warning",
            "the newest block is 600 s old: the clock is ahead, or the chain has stopped",
            "timedatectl",
        ),
    ],
)
async def test_the_clock_against_blocks(ahead_s: float, status: str, seen: str, advice: str, place: Place) -> None:
    async with node(FakeNode(ahead_s=ahead_s)) as url:
        place.on(url)
        (finding,) = findings(await place.examined("clock"))
    assert finding.status == status
    assert finding.seen.startswith(seen)
    assert advice in finding.advice


async def test_a_node_whose_subnet_cannot_be_read(place: Place, sdk_home: None) -> None:
    async with node() as url:
        place.on(url)
        found = await place.examined("subnet", "miners")
    fault, unknown = findings(found)
    assert (fault.about, fault.status) == ("subnet", "fault")
    assert fault.seen.startswith("the node answers, but the subnet cannot be read")
    assert (unknown.about, unknown.status) == ("miners", "unknown")


async def test_a_runtime_that_takes_no_commitments_where_the_subnet_wants_them(place: Place, sdk_home: None) -> None:
    world = await ServedWorld.open("", {"reveal_epochs": 1})
    try:
        world.node.lacks = NEWER
        place.on(world.proxy.url)
        (finding,) = of_status(await place.examined("subnet"), "warning")
    finally:
        await world.close()
    assert finding.about == "commit reveal"
    assert "no weights could be sent now" in finding.seen
    assert "present runtime" in finding.advice


@pytest.mark.parametrize(
    ("broken", "about", "status", "seen", "advice"),
    [
        ("unregistered", "registration", "fault", "is not registered on netuid 1", "Register it"),
        ("no permit", "permit", "warning", "no weights could be sent now (weights_no_permit)", "permits follow stake"),
        ("low stake", "stake", "warning", "1 TAO, at least 1000 asked for", "stake more to this hotkey"),
        ("no mechanism", "mechanism", "warning", "mechanism 7 of 1", "set weights.assessment_mechid"),
        ("too old", "version key", "warning", "at least 9000000 asked for", "upgrade this program"),
        (
            "chain of another subnet",
            "subnet",
            "fault",
            "validator.netuid is 1, but the simulated chain's file is of 5",
            "correct validator.netuid or chain.state",
        ),
        ("chain's file damaged", "subnet", "fault", "chain.state: ", "remove it to begin anew"),
    ],
)
async def test_the_hotkeys_place_on_the_subnet(  # noqa: PLR0913, PLR0917 - the columns of the table
    broken: str, about: str, status: str, seen: str, advice: str, place: Place
) -> None:
    FILE_SETUPS[broken](place)
    found = await place.examined("subnet")
    (finding,) = of_status(found, status)
    assert finding.about == about
    assert seen in finding.seen
    assert advice in finding.advice


@pytest.mark.parametrize(
    "method",
    [
        "system_chain",
        "system_health",
        "state_getRuntimeVersion",
        "state_getStorage",
        "chain_getHeader",
        "chain_getBlockHash",
    ],
)
async def test_whatever_a_node_says_each_check_ends_in_lines_that_harm_nobody(method: str, place: Place) -> None:
    for said in (
        *NONSENSE,
        {"specName": MARKED, "specVersion": 1e300},
        {"specName": "node-subtensor", "specVersion": "x"},
    ):
        async with node(FakeNode(replaced={method: said})) as url:
            place.on(url)
            found = findings(await place.examined("endpoints", "clock"))
        assert {one.about for one in found} >= {"endpoint 1"}
        for one in found:
            assert "an error of ours" not in one.seen, (said, one)
            assert (one.seen + one.advice).isprintable()
            assert len(one.seen + one.advice) < 2_000
