"""The read-only API: who may read what, what it answers, and what strangers can do to it."""

import asyncio
import json
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from cli_store import answered
from explained import ASSORTED_ROUNDS, FAULTS, HOTKEYS
from web_kit import OPERATOR, TOKEN, played, served

from publisher.web.admission import Admission, RateLimit
from publisher.web.api import ROUTES
from publisher.web.views import Views
from sssa.protocol.signatures import Signer, sign_in_text
from sssa.sources import SystemClock, VirtualClock
from validator.audit.documents import explanation_document, for_the_miner
from validator.audit.explain.round_explanation import explain_round
from validator.settings.model import Settings, WebSettings
from validator.store import open_store

LAST = ASSORTED_ROUNDS - 1


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return played(tmp_path_factory.mktemp("played"))


@pytest.fixture(scope="module")
def place(settings: Settings) -> Iterator[str]:
    with served(settings) as address:
        yield address


async def get(address: str, path: str, **headers: str) -> tuple[int, Any, Any]:
    sent = {**OPERATOR, **headers}
    async with aiohttp.ClientSession() as session, session.get(f"{address}/api/v1{path}", headers=sent) as response:
        body = await response.read()
        return response.status, json.loads(body) if body else None, response.headers


@pytest.mark.parametrize(
    ("path", "command"),
    [
        (f"/rounds/{LAST}", ("rounds", "show", str(LAST))),
        (f"/rounds/{LAST}/miners/{HOTKEYS[4]}", ("explain", HOTKEYS[4], "--round", str(LAST))),
        (f"/miners/{HOTKEYS[6]}", ("explain", HOTKEYS[6])),
        ("/rounds?limit=3", ("rounds", "list", "--limit", "3")),
        ("/weights", ("weights", "show")),
    ],
)
async def test_a_document_is_what_the_command_prints(
    path: str, command: tuple[str, ...], place: str, settings: Settings
) -> None:
    status, document, _ = await get(place, path)
    config = Path(settings.store.url.reveal().removeprefix("sqlite:///")).with_suffix(".toml")
    printed = await asyncio.to_thread(answered, *command, "--config", str(config))
    assert status == 200
    if command == ("weights", "show"):
        assert document["miners"] == printed["miners"]
        assert document["record"]["message"] == printed["message"]
        return
    document = document.get("miner", document) if path.startswith("/miners/") else document
    document.pop("next", None)
    assert _seconds(document) == printed


def _seconds(value: Any) -> Any:
    """The document with its moments in whole seconds, as commands print them."""
    if isinstance(value, dict):
        return {key: _seconds(one) for key, one in value.items()}
    if isinstance(value, str) and value.endswith("Z") and "." in value:
        return f"{value.partition('.')[0]}Z"
    return [_seconds(one) for one in value] if isinstance(value, list) else value


async def test_pages_of_lists_have_an_end(place: str) -> None:
    for path, many in (("rounds", ASSORTED_ROUNDS + 1), ("receipts", ASSORTED_ROUNDS + 1)):
        numbers: list[int] = []
        before = ""
        while before is not None:
            _, page, _ = await get(place, f"/{path}?limit=2{before and f'&before={before}'}")
            assert len(page[path]) <= 2
            numbers += [one.get("sequence", one.get("round_id")) for one in page[path]]
            before = page["next"]
        assert numbers == list(range(many - 1, -1, -1))


async def test_the_plan_stands_next_to_the_row_on_chain(place: str) -> None:
    _, document, _ = await get(place, "/weights/plan")
    lines = document["mechanisms"][0]["lines"]
    assert {one["hotkey"] for one in lines if one["on_chain"]} == set(HOTKEYS[:3])
    status, overview, _ = await get(place, "/status")
    assert (status, overview["chain"]["neurons"] > 3, overview["store"]["in_hand"]["round_id"]) == (200, True, LAST + 1)
    assert (await get(place, "/conditions"))[1]["healthy"] is False  # no validator runs there


async def test_an_etag_saves_the_body(place: str) -> None:
    _, _, headers = await get(place, "/rounds/0")
    assert headers["Cache-Control"] == "private, no-cache"
    assert (await get(place, "/rounds/0", **{"If-None-Match": headers["ETag"]}))[:2] == (304, None)
    assert (await get(place, "/rounds/0", **{"If-None-Match": '"other", W/' + headers["ETag"]}))[0] == 304
    assert (await get(place, "/rounds/1", **{"If-None-Match": headers["ETag"]}))[0] == 200
    assert "immutable" in (await get(place, "/receipts/1"))[2]["Cache-Control"]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/rounds?limit=0", 400),
        ("/rounds?limit=201", 400),
        ("/rounds?limit=1&limit=2", 400),
        ("/rounds?before=-1", 400),
        ("/rounds?before=99999999999999999999999999", 400),
        ("/rounds?x=1", 400),
        ("/rounds/x", 400),
        ("/rounds/%00", 400),
        ("/rounds/0/miners/%27;drop", 400),
        (f"/miners/{'1' * 47}", 404),
        ("/rounds/77", 404),
        ("/receipts/77", 404),
        ("/proofs/none", 404),
        ("/proofs/%F0%9F%92%A9", 400),
        ("/..%2f..%2fetc/passwd", 404),
        ("/rounds/0/", 404),
    ],
)
async def test_a_parameter_of_another_form_is_told_clearly(path: str, status: int, place: str) -> None:
    found, document, _ = await get(place, path)
    assert (found, document["status"]) == (status, status)
    assert document["message"]


async def test_only_reading_is_allowed_and_nothing_is_written(place: str, settings: Settings) -> None:
    async with aiohttp.ClientSession(headers=OPERATOR) as session, session.post(f"{place}/api/v1/rounds") as response:
        assert (response.status, response.headers["Allow"]) == (405, "GET,HEAD")
    async with Views.opened(settings, SystemClock()) as views:
        with pytest.raises(Exception, match="readonly database"):
            async with views.store.begin() as tx:
                await tx.retired.add(["ab" * 32], SystemClock().now())


async def test_other_hosts_and_other_machines_see_nothing(settings: Settings, place: str) -> None:
    assert (await get(place, "/rounds", Host="evil.example"))[0] == 421
    for route in ROUTES:
        path = route.path.format(round_id=0, hotkey=HOTKEYS[0], sequence=0, task_id="x", sha256="ab" * 32)
        for wrong in ("", "Bearer wrong", "Bearer ", f"Basic {TOKEN}"):
            assert (await get(place, path, Authorization=wrong))[0] == 401, path
    with served(settings, name="validator.example") as address:
        assert (await get(address, "/rounds", Host="validator.example"))[0] == 200
        assert (await get(address, "/rounds", Host="validator.example", Authorization=""))[0] == 401


async def test_an_address_that_asks_too_often_is_told_when_to_ask_again(settings: Settings) -> None:
    with served(settings, requests=1) as address:
        found = [await get(address, "/rounds", Authorization="") for _ in range(14)]
        assert [status for status, _, _ in found] == [401] * 10 + [429] * 4
        assert 1 <= int(found[-1][2]["Retry-After"]) <= 2
        assert (await get(address, "/rounds"))[0] == 200


async def test_addresses_share_nothing_but_an_ipv6_network() -> None:
    limit = RateLimit(1.0, clock := _clock())
    assert [limit.wait_s("192.0.2.1") > 0 for _ in range(11)] == [False] * 10 + [True]
    assert limit.wait_s("192.0.2.2") == 0
    assert [limit.wait_s(f"2001:db8::{n}") > 0 for n in range(11)] == [False] * 10 + [True]
    await clock.advance(2.0)
    assert [limit.wait_s("192.0.2.1") > 0 for _ in range(3)] == [False, False, True]
    for n in range(5_000):
        limit.wait_s(f"10.0.{n // 256}.{n % 256}")
    assert len(limit._buckets) == 4_096


def _clock() -> VirtualClock:
    return VirtualClock(datetime(2026, 1, 1, tzinfo=UTC))


async def test_a_nonce_counts_once_for_a_time_for_one_host_and_one_hotkey() -> None:
    clock = _clock()
    admission, miner = Admission(WebSettings(name="v.example"), TOKEN, clock), Signer.from_uri("//Miner")

    def signed(nonce: str, host: str = "v.example", hotkey: str = miner.hotkey) -> tuple[str, str, str, str, str]:
        return nonce, "v.example", miner.hotkey, miner.sign(sign_in_text(host, hotkey, nonce)), "sr25519"

    nonce = admission.new_nonce()
    assert not admission.use_nonce(*signed(nonce, host="other.example"))
    assert not admission.use_nonce(*signed(nonce, hotkey=HOTKEYS[0]))
    assert admission.use_nonce(*signed(nonce))
    assert not admission.use_nonce(*signed(nonce))
    late = admission.new_nonce()
    await clock.advance(121.0)
    assert not admission.use_nonce(*signed(late))
    of_another = Admission(WebSettings(name="v.example"), TOKEN, clock).new_nonce()
    for bad in (of_another, "", "\x00", "A" * 64, admission.new_nonce()[:-2]):
        assert not admission.use_nonce(*signed(bad))


async def test_a_miner_sees_nothing_that_helps_it_when_a_task_comes_again(settings: Settings) -> None:
    async with open_store(settings.store.url.reveal()) as store, store.read() as tx:
        whole = explanation_document(await explain_round(tx, LAST, HOTKEYS[4]))
        own = for_the_miner(whole, set())
    everything = json.dumps(whole.tasks, default=str)
    shown = json.dumps(own.tasks, default=str)
    for secret in (FAULTS[0].kind, "BLOCK", "curated", HOTKEYS[0]):
        assert secret in everything
        assert secret not in shown
    assert [one["entry"] for one in own.tasks] == [one["entry"] for one in whole.tasks]


async def test_idle_connections_and_slow_clients_keep_nobody_out(place: str) -> None:
    host, port = place.removeprefix("http://").split(":")
    held = [await asyncio.open_connection(host, int(port)) for _ in range(200)]
    bearer = f"Authorization: Bearer {TOKEN}\r\n\r\n".encode()
    held[0][1].write(b"GET /api/v1/rounds HTTP/1.1\r\nHost: ")  # and never more
    try:
        assert (await get(place, "/rounds"))[0] == 200
        for reader, writer in held[1:]:
            writer.write(b"GET /api/v1/rounds?limit=1 HTTP/1.1\r\nHost: localhost\r\n" + bearer)
            assert (await reader.readline()).startswith(b"HTTP/1.1 200")
    finally:
        for _, writer in held:
            writer.close()


def test_the_store_stays_as_it_was(settings: Settings) -> None:
    database = settings.store.url.reveal().removeprefix("sqlite:///")
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
