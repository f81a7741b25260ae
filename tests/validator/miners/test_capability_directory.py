"""The directory keeps the last valid declaration of every miner, and nothing else (SPEC 13)."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
import pytest
from miner_servers import ALICE, BOB, answering, http_client, ok, raw_server
from structlog.testing import capture_logs

from sssa.protocol.capabilities import Capabilities
from sssa.protocol.round import Axon, MetagraphSnapshot, Neuron
from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import SkillType
from sssa.protocol.sssa import Signature
from sssa.protocol.times import format_time
from sssa.sources import SystemClock, VirtualClock
from validator.miners.client import MinerClient
from validator.miners.directory import CapabilityDirectory, Declared
from validator.miners.scripted import ScriptedMinerClient, ScriptedReply
from validator.outgoing.calls import Call, Reply, Sent
from validator.store import Store, open_store
from validator.workers.interface import WorkersError

CAROL = Signer.from_uri("//Carol", "ed25519")
AXON = Axon("127.0.0.1", 8091)
UNSIGNED = Signature("", "sr25519", "0x" + "0" * 128)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with open_store(f"sqlite:///{tmp_path}/store.sqlite", create=True) as opened:
        yield opened


def declaration(signer: Signer, issued: datetime, hours: float = 24, software: str = "miner 1") -> bytes:
    document = Capabilities(
        document_version="1.0",
        hotkey=signer.hotkey,
        skill_types=(SkillType.DECLARATIVE, SkillType.MCP_SERVER),
        software=software,
        issued_at=format_time(issued),
        expires_at=format_time(issued + timedelta(hours=hours)),
        signature=UNSIGNED,
        max_concurrent=3,
    )
    return msgspec.json.encode(signer.sign_document(document))


def network(*neurons: tuple[str, Axon | None]) -> MetagraphSnapshot:
    return MetagraphSnapshot(
        netuid=1,
        block=1,
        block_hash="00" * 32,
        block_time=0,
        epoch=0,
        tempo=360,
        owner_hotkey=None,
        neurons=tuple(Neuron(hotkey, uid, 1.0, False, axon) for uid, (hotkey, axon) in enumerate(neurons)),
    )


def figures(declared: Declared) -> tuple[int, int, int]:
    return declared.queried, declared.valid, sum(declared.refused.values())


async def stored(store: Store, now: datetime) -> dict[str, bytes]:
    async with store.read() as tx:
        return await tx.capabilities.valid(now)


async def refresh(
    store: Store,
    clock: VirtualClock,
    answers: Mapping[str, bytes | ScriptedReply],
    *others: tuple[str, Axon | None],
    tell: Callable[[Declared], None] = lambda _: None,
) -> Declared:
    """Refresh with miners that answer so; at most ten virtual seconds pass."""

    def script(method: str, call: Call) -> ScriptedReply:
        assert (method, call.path, call.body) == ("GET", "/v1/capabilities", b"")
        answer = answers[call.hotkey]
        return answer if isinstance(answer, ScriptedReply) else ScriptedReply(answer)

    client: MinerClient = ScriptedMinerClient(script, clock)
    directory = CapabilityDirectory(client, store, clock, ALICE.hotkey, tell=tell)
    snapshot = network(*((hotkey, AXON) for hotkey in answers), *others)
    task = asyncio.create_task(directory.refresh(snapshot))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await clock.advance(10)
    return await task


async def test_documents_are_fetched_over_http_and_stored_as_they_came(store: Store) -> None:
    clock = SystemClock()
    documents = {signer.hotkey: declaration(signer, clock.now()) for signer in (BOB, CAROL)}
    async with (
        raw_server(answering(ok(documents[BOB.hotkey]))) as bob,
        raw_server(answering(ok(documents[CAROL.hotkey]))) as carol,
        http_client() as client,
    ):
        directory = CapabilityDirectory(client, store, clock, ALICE.hotkey)
        assert figures(await directory.refresh(network((BOB.hotkey, bob), (CAROL.hotkey, carol)))) == (2, 2, 0)
    assert await stored(store, clock.now()) == documents


async def test_only_other_miners_with_an_axon_are_asked(store: Store) -> None:
    clock = VirtualClock()
    document = declaration(BOB, clock.now())
    others = (ALICE.hotkey, AXON), (CAROL.hotkey, None)
    with capture_logs() as logs:
        assert figures(await refresh(store, clock, {BOB.hotkey: document}, *others)) == (1, 1, 0)
    assert await stored(store, clock.now()) == {BOB.hotkey: document}
    assert [(line["event"], line["queried"], line["valid"], line["refused"]) for line in logs] == [
        ("capabilities_refreshed", 1, 1, 0)
    ]


@pytest.mark.parametrize(
    "failure",
    [
        ScriptedReply(connects=False),
        ScriptedReply(status=500),
        ScriptedReply(b"{}", seconds=5.5),
        ScriptedReply(b"x" * 65_537),
        ScriptedReply(b""),
        ScriptedReply(b"\xff\xfe"),
        ScriptedReply(b"[" * 60_000),
        ScriptedReply(b'{"document_version": "1.0"}'),
    ],
)
async def test_a_failed_fetch_keeps_the_last_valid_document_until_it_expires(
    store: Store, failure: ScriptedReply
) -> None:
    clock = VirtualClock()
    document = declaration(BOB, clock.now(), hours=1)
    await refresh(store, clock, {BOB.hotkey: document})
    await clock.advance(3600)
    assert figures(await refresh(store, clock, {BOB.hotkey: failure})) == (1, 0, 1)
    assert await stored(store, clock.now()) == {BOB.hotkey: document}
    await clock.advance(50)  # the clock tolerance has passed too
    assert await stored(store, clock.now()) == {}


async def test_documents_that_are_not_the_miners_own_or_not_valid_now_are_refused(store: Store) -> None:
    clock = VirtualClock()
    now = clock.now()
    bad: list[tuple[bytes | ScriptedReply, str]] = [
        (declaration(CAROL, now), "declaration_invalid"),  # another's
        (declaration(BOB, now).replace(b"miner 1", b"miner 2"), "declaration_invalid"),  # not what was signed
        (declaration(BOB, now, hours=25), "declaration_invalid"),
        (declaration(BOB, now - timedelta(hours=3), hours=2), "declaration_expired"),
        (declaration(BOB, now + timedelta(minutes=5)), "declaration_future"),
        (ScriptedReply(connects=False), "deadline_connect"),
    ]
    for document, reason in bad:
        told: list[Declared] = []
        with capture_logs() as logs:
            found = await refresh(store, clock, {BOB.hotkey: document}, tell=told.append)
        assert figures(found) == (1, 0, 1)
        why, summary = logs
        assert (why["event"], why["log_level"]) == ("declaration_refused", "debug")
        assert (why["hotkey"], why["address"], why["reason"]) == (BOB.hotkey, f"{AXON.ip}:{AXON.port}", reason)
        assert summary["reasons"] == {reason: 1}
        by_clock = reason in {"declaration_expired", "declaration_future"}
        assert told == [Declared(1, 0, {reason: 1}, int(by_clock))]
    assert await stored(store, now) == {}


async def test_an_older_document_does_not_replace_a_newer_one(store: Store) -> None:
    clock = VirtualClock()
    older = declaration(BOB, clock.now() - timedelta(hours=1))
    newer = declaration(BOB, clock.now(), hours=2)
    assert (await refresh(store, clock, {BOB.hotkey: older})).valid == 1
    await clock.advance(1)
    assert (await refresh(store, clock, {BOB.hotkey: newer})).valid == 1
    await clock.advance(1)
    assert figures(await refresh(store, clock, {BOB.hotkey: older})) == (1, 0, 1)
    assert await stored(store, clock.now()) == {BOB.hotkey: newer}
    assert figures(await refresh(store, clock, {BOB.hotkey: newer})) == (1, 1, 0)  # the same one again is fine


async def test_a_whole_subnet_is_asked_a_bounded_number_at_once(store: Store) -> None:
    clock = VirtualClock()
    open_now = most = 0

    class Counting(ScriptedMinerClient):
        async def get(self, call: Call, sent: Sent | None = None) -> Reply:
            nonlocal open_now, most
            open_now += 1
            most = max(most, open_now)
            reply = await super().get(call, sent)
            open_now -= 1
            return reply

    def script(method: str, call: Call) -> ScriptedReply:
        del method, call
        return ScriptedReply(b"{}")

    directory = CapabilityDirectory(Counting(script, clock), store, clock, ALICE.hotkey)
    task = asyncio.create_task(directory.refresh(network(*((f"miner-{i}", AXON) for i in range(200)))))
    while not task.done():
        await asyncio.sleep(0)
        await clock.advance(0)
    assert figures(await task) == (200, 0, 200)
    assert 1 < most <= 32


class Waiting(MinerClient):
    """One miner whose answer nobody can read, and one that never answers."""

    def __init__(self) -> None:
        self.open: set[str] = set()

    async def get(self, call: Call, sent: Sent | None = None) -> Reply:
        if call.hotkey == BOB.hotkey:
            raise WorkersError("no worker can be had")
        self.open.add(call.hotkey)
        try:
            await asyncio.Event().wait()
        finally:
            self.open.discard(call.hotkey)
        raise AssertionError("nobody wakes it")

    async def post(self, call: Call, sent: Sent | None = None) -> Reply:
        raise NotImplementedError

    async def close(self) -> None:
        """Hold nothing."""


async def test_a_refresh_that_fails_leaves_no_question_open(store: Store) -> None:
    client = Waiting()
    directory = CapabilityDirectory(client, store, SystemClock(), ALICE.hotkey)
    with pytest.raises(WorkersError):
        await directory.refresh(network((CAROL.hotkey, AXON), (BOB.hotkey, AXON)))
    assert not client.open
