import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import hostile_tls
import msgspec
import pytest
import stamina
from aiohttp import web
from structlog.testing import capture_logs
from task_builders import make_task, make_truth, numbered, serving

from sssa.protocol.archives import pack
from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import SkillType
from sssa.protocol.sssa import Signature
from sssa.protocol.times import format_time
from sssa.sources import SystemClock
from taskmaker.task_server import task_server
from validator.outgoing import tls
from validator.tasks.http import HttpSource
from validator.tasks.source import InTurn, MemorySource, SourcedTask, TaskSourceError
from validator.tasks.wire import TasksAnswer

SERVER, ALICE, MALLORY = (Signer.from_uri(uri) for uri in ("//Server", "//Alice", "//Mallory"))
TASKS = [numbered(n) for n in range(3)]
MANY = [numbered(n) for n in range(17)]
BUNDLES = {task.task.bundle_sha256: task.bundle for task in TASKS}
BLANK = Signature("", "sr25519", "0x" + "0" * 128)
Reply = web.StreamResponse
Handler = Callable[[web.Request], Awaitable[Reply]]


@pytest.fixture(autouse=True)
def _retries_do_not_wait() -> Iterator[None]:
    with stamina.set_testing(True, attempts=3):
        yield


@asynccontextmanager
async def asking(base: str, **options: Any) -> AsyncIterator[HttpSource]:
    source = HttpSource(base, SERVER.hotkey, ALICE, SystemClock(), **options)
    try:
        yield source
    finally:
        await source.close()


async def fetch(base: str, count: int = 2) -> list[SourcedTask]:
    async with asking(base) as source:
        return await source.fetch(SkillType.DECLARATIVE, count, InTurn())


def answer(
    request: web.Request, tasks: list[SourcedTask] = TASKS[:2], *, signer: Signer = SERVER, **changes: Any
) -> TasksAnswer:
    nonce = changes.pop("request_nonce", request.headers["X-Bittensor-Nonce"])
    issued = changes.pop("issued_at", format_time(SystemClock().now()))
    return signer.sign_document(TasksAnswer(tuple(task.task for task in tasks), issued, nonce, BLANK))


def as_json(document: Any) -> web.Response:
    return web.Response(body=msgspec.json.encode(document), content_type="application/json")


def server(tasks: Handler, bundles: dict[str, bytes] | Handler = BUNDLES) -> web.Application:
    async def bundle(request: web.Request) -> Reply:
        assert isinstance(bundles, dict)
        return web.Response(body=bundles[request.match_info["sha256"]])

    app = web.Application(handler_args={"max_line_size": 32_768})
    app.router.add_get("/v1/tasks", tasks)
    app.router.add_get("/v1/bundles/{sha256}", bundle if isinstance(bundles, dict) else bundles)
    return app


async def honest(request: web.Request) -> Reply:
    return as_json(answer(request))


async def test_tasks_come_through_with_their_bundles() -> None:
    app = task_server(MemorySource(TASKS), SERVER, SystemClock(), frozenset({ALICE.hotkey}))
    async with serving(app) as base, asking(base) as source:
        assert await source.fetch(SkillType.DECLARATIVE, 2, InTurn()) == TASKS[:2]
        others = frozenset(BUNDLES) - {TASKS[1].task.bundle_sha256}
        assert await source.fetch(SkillType.DECLARATIVE, 1, InTurn(exclude=others)) == [TASKS[1]]
        assert await source.fetch(SkillType.MCP_SERVER, 2, InTurn()) == []
        assert await source.reachable()


async def test_the_hostile_servers_of_these_tests_would_be_believed_if_they_were_honest() -> None:
    async with serving(server(honest)) as base:
        assert await fetch(base) == TASKS[:2]


def other_key(request: web.Request) -> Any:
    return answer(request, signer=MALLORY)


def claimed_key(request: web.Request) -> Any:
    document = answer(request, signer=MALLORY)
    return msgspec.structs.replace(
        document, signature=msgspec.structs.replace(document.signature, hotkey=SERVER.hotkey)
    )


def changed_after_signing(request: web.Request) -> Any:
    document = msgspec.to_builtins(answer(request, [make_task(truth=make_truth(verdict="BLOCK"))]))
    document["tasks"][0]["truth"]["verdict"] = "ALLOW"
    return document


def other_nonce(request: web.Request) -> Any:
    return answer(request, request_nonce=str(int(request.headers["X-Bittensor-Nonce"]) - 1))


def issued(seconds: int) -> Callable[[web.Request], Any]:
    return lambda request: answer(request, issued_at=format_time(SystemClock().now() + timedelta(seconds=seconds)))


def unsigned(request: web.Request) -> Any:
    document = msgspec.to_builtins(answer(request))
    del document["signature"]
    return document


LIES: dict[str, tuple[Callable[[web.Request], Any], str]] = {
    "other key": (other_key, "`signature`"),
    "claimed key": (claimed_key, "`signature`"),
    "changed after signing": (changed_after_signing, "`signature`"),
    "no signature": (unsigned, "signature"),
    "other nonce": (other_nonce, "`request_nonce`"),
    "nonce that is none": (lambda r: answer(r, request_nonce="-"), "request_nonce"),
    "stale": (issued(-63), "`issued_at`"),
    "from the future": (issued(63), "`issued_at`"),
    "no time": (lambda r: answer(r, issued_at="yesterday"), "`issued_at`"),
    "more than asked": (lambda r: answer(r, MANY), "length <= 16"),
    "another type": (lambda r: answer(r, [numbered(0, SkillType.MCP_SERVER)]), "`tasks`"),
    "twice the same": (lambda r: answer(r, [TASKS[0], TASKS[0]]), "`tasks`"),
    "unknown field": (lambda r: {**msgspec.to_builtins(answer(r)), "more": 1}, "more"),
    "no object": (lambda _: [], "task list"),
    "provenance without truth": (
        lambda r: answer(r, [make_task({"SKILL.md": b"# Skill 0\n"}, provenance="curated")]),
        "`truth`",
    ),
    "unresolved injection": (
        lambda r: answer(r, [make_task({"SKILL.md": b"# Skill 0\n"}, truth=make_truth(injections=("x.md",)))]),
        "injections",
    ),
}


@pytest.mark.parametrize("lie", LIES)
async def test_a_wrong_list_is_refused_whole(lie: str) -> None:
    make, fault = LIES[lie]

    async def lying(request: web.Request) -> Reply:
        return as_json(make(request))

    async with serving(server(lying)) as base:
        with pytest.raises(TaskSourceError, match=fault):
            await fetch(base)


async def test_nan_windows_and_repeated_keys_are_refused() -> None:
    changes: list[Callable[[str], str]] = [
        lambda text: text.replace('"windows":null', '"windows":{"primary":[NaN,9],"auditor":[0,9]}'),
        lambda text: text.replace('"windows":null', '"windows":{"primary":[0,1e999],"auditor":[0,9]}'),
        lambda text: text.replace('"windows":null', '"windows":null,"windows":null'),
        lambda text: "[" * 100_000,
        lambda text: text + "x",
    ]
    bodies = iter(changes)

    async def lying(request: web.Request) -> Reply:
        text = json.dumps(msgspec.to_builtins(answer(request)), separators=(",", ":"))
        return web.Response(text=next(bodies)(text))

    async with serving(server(lying)) as base:
        for _ in range(5):
            with pytest.raises(TaskSourceError, match="task list"):
                await fetch(base)
    assert next(bodies, None) is None


async def test_a_redirect_is_not_followed() -> None:
    followed = []

    async def elsewhere(request: web.Request) -> Reply:
        followed.append(request.path)
        return await honest(request)

    async def redirect(request: web.Request) -> Reply:
        raise web.HTTPTemporaryRedirect(f"/elsewhere?{request.query_string}")

    app = server(redirect)
    app.router.add_get("/elsewhere", elsewhere)
    async with serving(app) as base:
        with pytest.raises(TaskSourceError, match="status 307"):
            await fetch(base)
    assert followed == []


async def test_an_https_server_has_a_right_certificate_and_no_dear_handshake(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async with serving(server(honest), hostile_tls.context()) as base:
        tls._context.cache_clear()
        with pytest.raises(TaskSourceError, match="CERTIFICATE_VERIFY_FAILED"):
            await fetch(base)
        monkeypatch.setenv("SSL_CERT_FILE", str(hostile_tls.CERTIFICATE))
        tls._context.cache_clear()
        assert await fetch(base) == TASKS[:2]
    for dear in (hostile_tls.own_group(tmp_path), hostile_tls.retried()):
        async with serving(server(honest), dear) as base:
            with pytest.raises(TaskSourceError, match="reached"):
                await fetch(base)
    tls._context.cache_clear()


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "identity, gzip", "identity"])
async def test_a_compressed_answer_is_refused_and_never_inflated(encoding: str) -> None:
    async def squeezed(request: web.Request) -> Reply:
        assert request.headers.getall("Accept-Encoding") == ["identity"]
        body = gzip.compress(msgspec.json.encode(answer(request)))
        return web.Response(body=body, headers={"Content-Encoding": encoding})

    async with serving(server(squeezed)) as base:
        with pytest.raises(TaskSourceError, match="task list"):
            await fetch(base)


@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("what", ["list", "bundle"])
async def test_a_body_over_its_limit_is_cut_off(what: str, declared: bool) -> None:
    sent = 0

    async def endless(request: web.Request) -> Reply:
        nonlocal sent
        response = web.StreamResponse()
        if declared:
            response.content_length = 1 << 40
        await response.prepare(request)
        try:
            while sent < 1 << 30:
                await response.write(b" " * 65_536)
                sent += 65_536
        except ConnectionError:
            pass
        return response

    app = server(endless) if what == "list" else server(honest, endless)
    async with serving(app) as base:
        with pytest.raises(TaskSourceError, match=r"more than|at most"):
            await fetch(base)
    assert sent < 64 * 1024 * 1024


class Recording(InTurn):
    """Ranks backwards, and remembers what it was asked."""

    def __init__(self, recent: Sequence[str] = ()) -> None:
        super().__init__()
        self.ranked: list[list[str]] = []
        self._recent = list(recent)

    async def rank(self, skill_type: SkillType, sources: Collection[str]) -> list[str]:
        self.ranked.append(list(sources))
        return list(sources)[::-1]

    async def recent(self, skill_type: SkillType, most: int) -> list[str]:
        return self._recent[:most]


@asynccontextmanager
async def watched(app: web.Application) -> AsyncIterator[tuple[str, list[str]]]:
    """Serve `app`; give its base url and the targets it is asked for."""
    targets: list[str] = []

    @web.middleware
    async def watch(request: web.Request, handler: Any) -> web.StreamResponse:
        targets.append(request.raw_path)
        reply: web.StreamResponse = await handler(request)
        return reply

    app.middlewares.insert(0, watch)
    async with serving(app) as base:
        yield base, targets


async def test_of_a_servers_tasks_64_are_ranked_and_only_the_bundles_of_the_chosen_are_fetched() -> None:
    shelf, order = MemorySource(numbered(n) for n in range(100)), Recording()
    async with (
        watched(task_server(shelf, SERVER, SystemClock(), frozenset({ALICE.hotkey}))) as (base, targets),
        asking(base) as source,
    ):
        chosen = await source.fetch(SkillType.DECLARATIVE, 2, order)
        ((*ranked,),) = order.ranked
        assert len(ranked) == 64
        assert [task.task.bundle_sha256 for task in chosen] == ranked[:-3:-1]
        lists = [target for target in targets if target.startswith("/v1/tasks?")]
        assert [target.count(",") for target in lists] == [0, 15, 31, 47]
        assert targets[4:] == [f"/v1/bundles/{task.task.bundle_sha256}" for task in chosen]
        await source.fetch(SkillType.DECLARATIVE, 2, order)
    assert len(set(ranked) | set(order.ranked[1])) == 100  # the server goes round


async def test_a_server_with_few_tasks_is_asked_until_it_offers_nothing_new() -> None:
    shelf, order = MemorySource(numbered(n) for n in range(20)), Recording()
    async with (
        watched(task_server(shelf, SERVER, SystemClock(), frozenset({ALICE.hotkey}))) as (base, targets),
        asking(base) as source,
    ):
        assert len(await source.fetch(SkillType.DECLARATIVE, 9, order)) == 9
        assert await source.fetch(SkillType.MCP_SERVER, 2, order) == []
    assert [len(ranked) for ranked in order.ranked] == [20, 0]
    assert len(targets) == 3 + 9 + 1


async def test_a_server_is_told_what_was_given_last_as_far_as_a_request_goes() -> None:
    recent = [f"{n:064x}" for n in range(300)]
    shelf = MemorySource(numbered(n) for n in range(40))
    async with (
        watched(task_server(shelf, SERVER, SystemClock(), frozenset({ALICE.hotkey}))) as (base, targets),
        asking(base) as source,
    ):
        await source.fetch(SkillType.DECLARATIVE, 1, Recording(recent))
    named = [frozenset(target.partition("exclude=")[2].split(",")) for target in targets if "exclude" in target]
    assert [len(names) for names in named] == [256] * 4
    assert [len(names & set(recent)) for names in named] == [256, 240, 224, 216]
    assert all(recent[0] in names for names in named)


async def test_a_task_with_a_bad_bundle_is_passed_over_and_comes_last_from_then_on() -> None:
    bad = TASKS[1].task.bundle_sha256
    mixed = {**BUNDLES, bad: TASKS[2].bundle}

    async def three(request: web.Request) -> Reply:
        return as_json(answer(request, TASKS))

    async with watched(server(three, mixed)) as (base, targets), asking(base) as source:
        with capture_logs() as logs:
            assert await source.fetch(SkillType.DECLARATIVE, 2, InTurn()) == [TASKS[0], TASKS[2]]
        assert [(line["event"], line["bundle_sha256"]) for line in logs] == [("task_refused", bad)]
        assert "`bundle_sha256`" in logs[0]["reason"]
        del targets[:]
        assert await source.fetch(SkillType.DECLARATIVE, 2, InTurn()) == [TASKS[0], TASKS[2]]
        assert f"/v1/bundles/{bad}" not in targets


async def test_a_server_of_bad_bundles_costs_four_of_them_at_a_time() -> None:
    many = MANY[:9]

    async def nine(request: web.Request) -> Reply:
        return as_json(answer(request, many))

    bad = {task.task.bundle_sha256: b"" for task in many[:8]} | {many[8].task.bundle_sha256: many[8].bundle}
    async with watched(server(nine, bad)) as (base, targets), asking(base) as source:
        for _ in range(2):
            del targets[:]
            with pytest.raises(TaskSourceError, match="`bundle_sha256`"):
                await source.fetch(SkillType.DECLARATIVE, 2, InTurn())
            assert sum(target.startswith("/v1/bundles/") for target in targets) == 4
        assert await source.fetch(SkillType.DECLARATIVE, 2, InTurn()) == [many[8]]


async def test_a_slow_server_is_cut_off_and_what_came_until_then_is_used() -> None:
    """The first list and the first bundle come at once, the rest never."""
    bundles = iter([TASKS[0].bundle])
    lists = iter([TASKS[:2]])

    async def slow_list(request: web.Request) -> Reply:
        if (listed := next(lists, None)) is None:
            await asyncio.Event().wait()
        return as_json(answer(request, listed or []))

    async def slow(_: web.Request) -> Reply:
        if (bundle := next(bundles, None)) is None:
            await asyncio.Event().wait()
        return web.Response(body=bundle)

    async with serving(server(slow_list, slow)) as base, asking(base) as source:
        assert await source.fetch(SkillType.DECLARATIVE, 2, InTurn(), 1.0) == [TASKS[0]]
        with pytest.raises(TaskSourceError, match="nothing whole within 1 s"):
            await source.fetch(SkillType.DECLARATIVE, 2, InTurn(), 1.0)


async def test_a_bundle_with_another_hash_is_refused() -> None:
    swapped = dict.fromkeys(BUNDLES, TASKS[2].bundle)
    async with serving(server(honest, swapped)) as base:
        with pytest.raises(TaskSourceError, match="`bundle_sha256`"):
            await fetch(base)


async def test_a_bundle_that_does_not_unpack_safely_is_refused() -> None:
    bomb = make_task({"zeros": bytes(8_000_000)})
    bombs = {bomb.task.bundle_sha256: pack({"zeros": bytes(8_000_000)})}

    async def armed(request: web.Request) -> Reply:
        return as_json(answer(request, [bomb]))

    async with serving(server(armed, bombs)) as base:
        with pytest.raises(TaskSourceError, match="`bundle`"):
            await fetch(base)


@pytest.mark.parametrize("status", [201, 204, 404, 500])
async def test_any_status_but_200_is_refused(status: int) -> None:
    async def refusing(_: web.Request) -> Reply:
        return web.Response(status=status)

    async with serving(server(refusing)) as base, asking(base) as source:
        with pytest.raises(TaskSourceError, match=f"status {status}"):
            await source.fetch(SkillType.DECLARATIVE, 1, InTurn())
        assert await source.reachable()


async def test_a_broken_connection_is_tried_again_with_a_fresh_nonce() -> None:
    nonces = []

    async def flaky(request: web.Request) -> Reply:
        nonces.append(int(request.headers["X-Bittensor-Nonce"]))
        if len(nonces) < 3:
            assert request.transport is not None
            request.transport.abort()
        return as_json(answer(request))

    async with serving(server(flaky)) as base:
        assert await fetch(base) == TASKS[:2]
    assert len(nonces) == 4  # three for the first list, one for the rest
    assert sorted(set(nonces)) == nonces


async def test_a_body_that_breaks_off_every_time_is_given_up() -> None:
    tries = 0

    async def breaking(request: web.Request) -> Reply:
        nonlocal tries
        tries += 1
        response = web.StreamResponse(headers={"Content-Length": "1000"})
        await response.prepare(request)
        await response.write(b"{")
        assert request.transport is not None
        request.transport.abort()
        return response

    async with serving(server(breaking)) as base:
        with pytest.raises(TaskSourceError, match="reached"):
            await fetch(base)
    assert tries == 3


async def test_a_server_that_never_answers_is_timed_out() -> None:
    never = asyncio.Event()

    async def silent(_: web.Request) -> Reply:
        await never.wait()
        return web.Response()

    async with serving(server(silent)) as base, asking(base, timeout_s=0.3) as source:
        with pytest.raises(TaskSourceError, match=r"0\.3 s"):
            await source.fetch(SkillType.DECLARATIVE, 1, InTurn())
        assert not await source.reachable()
        never.set()


@pytest.mark.parametrize("greeting", [b"SSH-2.0-x\r\n", b"HTTP/1.1 200 OK\r\nA: " + b"x" * 100_000 + b"\r\n\r\n", b""])
async def test_a_peer_that_does_not_speak_http_is_no_server(greeting: bytes) -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(greeting)
        writer.close()
        await writer.wait_closed()

    listener = await asyncio.start_server(greet, "127.0.0.1", 0)
    async with listener:
        port = listener.sockets[0].getsockname()[1]
        async with asking(f"http://127.0.0.1:{port}") as source:
            with pytest.raises(TaskSourceError) as caught:
                await source.fetch(SkillType.DECLARATIVE, 1, InTurn())
            assert len(str(caught.value)) < 300
            assert await source.reachable() == greeting.startswith(b"HTTP")  # somebody answered


async def test_nobody_there_is_unreachable() -> None:
    async with serving(server(honest)) as base:
        pass
    async with asking(base) as source:
        assert not await source.reachable()
        with pytest.raises(TaskSourceError, match="reached"):
            await source.fetch(SkillType.DECLARATIVE, 1, InTurn())


@pytest.mark.parametrize(
    "url",
    ["", "localhost", "ftp://x", "http://", "http://x/path", "http://u:p@x", "http://x?q", "http://x#f", "http://x:y"],
)
def test_a_base_url_of_another_form_is_refused(url: str) -> None:
    with pytest.raises(TaskSourceError, match="base url"):
        HttpSource(url, SERVER.hotkey, ALICE, SystemClock())
