import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from bittensor import http_auth
from hypothesis import given
from hypothesis import strategies as st
from task_builders import make_task, make_truth, numbered, serving
from yarl import URL

from sssa.protocol.canonical import sha256_hex
from sssa.protocol.signatures import Signer, verify_document
from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType
from sssa.protocol.strict_json import decode
from sssa.protocol.times import format_time, parse_time
from sssa.sources import SystemClock, VirtualClock
from taskmaker.task_server import task_server
from validator.incoming.auth import RequestVerifier
from validator.tasks.directory import DirectorySource
from validator.tasks.source import MemorySource
from validator.tasks.wire import QueryError, TasksAnswer, parse_query, tasks_target

SERVER, ALICE, BOB = (Signer.from_uri(uri) for uri in ("//Server", "//Alice", "//Bob"))
TASKS = [numbered(n) for n in range(3)]
LIST = "/v1/tasks?skill_type=declarative&count=2"


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(auto_decompress=False) as session:
        yield session


@pytest.fixture
async def base() -> AsyncIterator[str]:
    app = task_server(MemorySource(TASKS), SERVER, SystemClock(), frozenset({ALICE.hotkey}))
    async with serving(app) as base:
        yield base


def signed(target: str, signer: Signer = ALICE, **changes: Any) -> dict[str, str]:
    return http_auth.sign(
        signer.keypair, **{"method": "GET", "path": target, "receiver_ss58": SERVER.hotkey, **changes}
    )


async def get(
    session: aiohttp.ClientSession, base: str, target: str, headers: dict[str, str] | None = None, **more: Any
) -> tuple[int, bytes]:
    headers = signed(target) if headers is None else headers
    async with session.get(URL(base + target, encoded=True), headers=headers, **more) as response:
        assert "Content-Encoding" not in response.headers
        return response.status, await response.read()


async def test_a_task_list_is_signed_fresh_and_names_the_request(session: aiohttp.ClientSession, base: str) -> None:
    headers = signed(LIST)
    status, body = await get(session, base, LIST, headers)
    answer = decode(body, TasksAnswer, limit=1 << 20)
    assert status == 200
    assert list(answer.tasks) == [task.task for task in TASKS[:2]]
    assert answer.request_nonce == headers["X-Bittensor-Nonce"]
    assert verify_document(answer, SERVER.hotkey)
    age = SystemClock().now() - parse_time(answer.issued_at, "issued_at")
    assert timedelta(0) <= age < timedelta(seconds=60)


async def test_bundles_come_byte_for_byte(session: aiohttp.ClientSession, base: str) -> None:
    sha256 = TASKS[1].task.bundle_sha256
    assert await get(session, base, f"/v1/bundles/{sha256}") == (200, TASKS[1].bundle)


async def test_256_excluded_hashes_fit_and_are_left_out(session: aiohttp.ClientSession, base: str) -> None:
    exclude = {sha256_hex(b"%d" % n) for n in range(255)} | {TASKS[0].task.bundle_sha256}
    target = tasks_target(SkillType.DECLARATIVE, 2, exclude)
    status, body = await get(session, base, target)
    assert status == 200
    assert [task["bundle_sha256"] for task in json.loads(body)["tasks"]] == [t.task.bundle_sha256 for t in TASKS[1:]]


@pytest.mark.parametrize(
    "headers",
    [
        {},
        signed(LIST, receiver_ss58=None),
        signed(LIST, receiver_ss58=BOB.hotkey),
        signed(LIST, method="POST"),
        signed(LIST + "0"),
        signed(LIST, body=b"x"),
        signed(LIST, nonce_ns=1),
        {**signed(LIST), "X-Bittensor-Nonce": "9" * 30},
        {**signed(LIST), "X-Bittensor-Nonce": "now"},
        {**signed(LIST), "X-Bittensor-Hotkey": BOB.hotkey},
        {**signed(LIST), "X-Bittensor-Hotkey": "nobody"},
        {**signed(LIST), "X-Bittensor-Hotkey": "\xe9\xff"},
        {**signed(LIST), "X-Bittensor-Signature": "0x00"},
        {**signed(LIST), "X-Bittensor-Crypto": "ed25519"},
        {**signed(LIST), "X-Bittensor-Version": "2"},
    ],
)
async def test_requests_without_good_headers_are_refused(
    session: aiohttp.ClientSession, base: str, headers: dict[str, str]
) -> None:
    status, body = await get(session, base, LIST, headers)
    assert (status, list(json.loads(body))) == (401, ["error"])


async def test_a_replayed_request_is_refused(session: aiohttp.ClientSession, base: str) -> None:
    headers = signed(LIST)
    assert (await get(session, base, LIST, headers))[0] == 200
    assert (await get(session, base, LIST, headers))[0] == 401


async def test_a_newer_sdk_is_told_the_scheme(monkeypatch: pytest.MonkeyPatch) -> None:
    verify, told = http_auth.verify, []

    def newer_verify(*args: Any, expected_crypto_type: int | None = None, **options: Any) -> http_auth.Caller:
        told.append(expected_crypto_type)
        return verify(*args, **options)

    monkeypatch.setattr(http_auth, "verify", newer_verify)
    verifier = RequestVerifier(SERVER.hotkey, SystemClock())
    assert verifier.verify(signed(LIST), "GET", LIST).hotkey == ALICE.hotkey
    assert told == [1]


async def test_only_listed_hotkeys_are_served(session: aiohttp.ClientSession, base: str) -> None:
    assert (await get(session, base, LIST, signed(LIST, BOB)))[0] == 403
    async with serving(task_server(MemorySource(TASKS), SERVER, SystemClock(), frozenset({BOB.hotkey}))) as others:
        assert (await get(session, others, LIST, signed(LIST, BOB)))[0] == 200


async def test_freshness_follows_the_given_clock(session: aiohttp.ClientSession) -> None:
    clock = VirtualClock()
    nonce = int(clock.now().timestamp() * 1e9)
    async with serving(task_server(MemorySource(TASKS), SERVER, clock, frozenset({ALICE.hotkey}))) as base:
        status, body = await get(session, base, LIST, signed(LIST, nonce_ns=nonce))
        assert (status, json.loads(body)["issued_at"]) == (200, format_time(clock.now()))
        await clock.advance(11)
        assert (await get(session, base, LIST, signed(LIST, nonce_ns=nonce + 1)))[0] == 401


@pytest.mark.parametrize(
    "query",
    [
        "",
        "?skill_type=declarative",
        "?count=1",
        "?skill_type=poetry&count=1",
        "?skill_type=workflow&count=1",
        "?skill_type=declarative&count=0",
        "?skill_type=declarative&count=17",
        "?skill_type=declarative&count=-1",
        "?skill_type=declarative&count=%D9%A1",
        "?skill_type=declarative&count=1e1",
        "?skill_type=declarative&count=1&count=2",
        "?skill_type=declarative&count=1&more=1",
        "?skill_type=declarative&count=1&exclude=abc",
        "?skill_type=declarative&count=1&exclude=" + ",".join(["0" * 64] * 257),
        "?skill_type=declarative&count=1&exclude=" + "0" * 64 + ",",
    ],
)
async def test_a_query_that_is_none_is_refused(session: aiohttp.ClientSession, base: str, query: str) -> None:
    assert (await get(session, base, "/v1/tasks" + query))[0] == 400


@given(
    st.sampled_from(ASSESSED_TYPES), st.integers(1, 16), st.frozensets(st.binary(min_size=32, max_size=32), max_size=20)
)
def test_a_target_says_what_was_asked(skill_type: SkillType, count: int, exclude: frozenset[bytes]) -> None:
    wanted = frozenset(map(bytes.hex, exclude))
    query = parse_query(tasks_target(skill_type, count, wanted).partition("?")[2])
    assert (query.skill_type, query.count, query.exclude) == (skill_type, count, wanted)


@given(st.text())
def test_any_text_is_a_query_or_refused(text: str) -> None:
    try:
        assert 1 <= parse_query(text).count <= 16
    except QueryError as error:
        assert str(error).isprintable()


@pytest.mark.parametrize(
    "path", ["/v1/bundles/" + "0" * 64, "/v1/bundles/..%2f..%2fetc%2fpasswd", "/v1/bundles/x", "/"]
)
async def test_what_is_not_there_is_404(session: aiohttp.ClientSession, base: str, path: str) -> None:
    assert (await get(session, base, path))[0] == 404


async def test_only_get_without_a_body(session: aiohttp.ClientSession, base: str) -> None:
    assert (await get(session, base, LIST, data=b"x"))[0] == 400
    for method in ("HEAD", "POST", "DELETE"):
        async with session.request(method, base + LIST, headers=signed(LIST, method=method)) as response:
            assert response.status == 405


@pytest.mark.parametrize(
    "line",
    [
        b"GET /v1/tasks?\xff HTTP/1.1\r\nHost: x\r\n",
        b"GET /v1/tasks HTTP/1.1\r\nHost: x\r\nX-Bittensor-Hotkey: \xff\xfe\r\nX-Bittensor-Version: 1\r\n",
        b"GET http://x/v1/tasks HTTP/1.1\r\nHost: x\r\n",
        b"\x00\x01\r\n",
    ],
)
async def test_raw_bytes_are_refused_and_never_an_error_of_ours(base: str, line: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", URL(base).port)
    writer.write(line + b"Connection: close\r\n\r\n")
    status = await reader.readline()
    assert status.split()[1] in (b"400", b"401")
    writer.close()
    await writer.wait_closed()


async def test_an_overlong_target_is_refused_unread(session: aiohttp.ClientSession, base: str) -> None:
    assert (await get(session, base, LIST + "&exclude=" + "0" * 40_000))[0] == 400


async def test_a_list_never_outgrows_its_limit(session: aiohttp.ClientSession) -> None:
    words = tuple("x" * 4_096 for _ in range(900))  # 3.7 MB of JSON each: four fit, five do not
    big = [make_task({"a": b"%d" % n}, truth=make_truth(shell_commands=words)) for n in range(6)]
    async with serving(task_server(MemorySource(big), SERVER, SystemClock(), frozenset({ALICE.hotkey}))) as base:
        status, body = await get(session, base, "/v1/tasks?skill_type=declarative&count=6")
    assert status == 200
    assert len(body) <= 16 * 1024 * 1024
    assert len(json.loads(body)["tasks"]) == 4


async def test_a_directory_that_is_gone_is_503(session: aiohttp.ClientSession, tmp_path: Path) -> None:
    async with serving(
        task_server(DirectorySource(tmp_path / "gone"), SERVER, SystemClock(), frozenset({ALICE.hotkey}))
    ) as base:
        status, body = await get(session, base, LIST)
    assert status == 503
    assert str(tmp_path) not in body.decode()
