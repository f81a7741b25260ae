"""The pages without a browser: who sees which, how one comes in, and that strangers' text stays text."""

import asyncio
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import aiohttp
import msgspec
import pytest
from cli_store import called
from explained import ASSORTED_ROUNDS, HOTKEYS
from markupsafe import escape
from web_kit import EVIL, OPERATOR, TOKEN, played, reported, served

from publisher.web.admission import Viewer
from publisher.web.screens import SCREENS, page, waterfall
from sssa.protocol.signatures import Signer, sign_in_text
from validator.audit.documents import explanation_document
from validator.audit.explain.round_explanation import explain_round
from validator.settings.model import Settings
from validator.store import open_store

LAST = ASSORTED_ROUNDS - 1
HOSTILE = "\"><script>alert(1)</script><img src=x onerror=alert(2)>'\x1b[31m\u202e"
PATHS = {
    "/": "No validator answers",
    "/rounds": f'href="/rounds/{LAST}"',
    f"/rounds/{LAST}": "deadline_status",
    f"/rounds/{LAST}/miners/{HOTKEYS[4]}": "Who reported which finding",
    "/miners": HOTKEYS[0],
    f"/miners/{HOTKEYS[6]}": "What brings it back",
    "/weights": str(escape(EVIL.replace("\u202e", r"\u202e"))),
}


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return played(tmp_path_factory.mktemp("screens"))


@pytest.fixture(scope="module")
def place(settings: Settings) -> Iterator[str]:
    with served(settings) as address:
        yield address


async def get(address: str, path: str, **cookies: str) -> tuple[int, str, Any]:
    """Ask with cookies, or without any as the operator."""
    async with (
        aiohttp.ClientSession(cookies=cookies, headers={} if cookies else OPERATOR) as session,
        session.get(f"{address}{path}", allow_redirects=False) as response,
    ):
        return response.status, await response.text(), response.headers


@pytest.mark.parametrize("path", PATHS)
async def test_every_screen_shows_what_the_api_gives(path: str, place: str) -> None:
    query = f"?task={await _a_failed_one(place)}" if path == f"/rounds/{LAST}" else ""
    status, text, headers = await get(place, path + query)
    assert status == 200
    assert PATHS[path] in text
    assert "script-src" not in headers["Content-Security-Policy"]
    assert headers["Content-Security-Policy"].startswith("default-src 'none'; style-src 'self'")
    assert not re.search(r"<script|\sstyle=|\son\w+=|(src|href)=\"(?!/|\?|#|data:,)", text)


async def _a_failed_one(place: str) -> str:
    url = f"{place}/api/v1/rounds/{LAST}"
    async with aiohttp.ClientSession(headers=OPERATOR) as session, session.get(url) as response:
        tasks = (await response.json())["tasks"]
    failed = next((task, one) for task in tasks for one in task["dispatches"] if one["reason"] == "deadline_status")
    return f"{failed[0]['task_id']}&member={failed[1]['hotkey']}"


async def test_now_shows_conditions_and_the_round_in_hand(settings: Settings) -> None:
    with reported(settings) as reporting, served(reporting) as address:
        text = (await get(address, "/"))[1]
        for expected in ("gates_behind", "Wait.", str(escape(EVIL[:8])), "few_miners", "planned", "The validator is"):
            assert expected in text
        open_round = (await get(address, f"/rounds/{ASSORTED_ROUNDS}"))[1]
        assert ", open" in open_round
        assert ">·</a>" in open_round


def test_every_screen_is_looked_at() -> None:
    patterns = [re.compile(re.sub(r"\{\w+\}", "[^/]+", screen.path)) for screen in SCREENS]
    assert all(any(pattern.fullmatch(path) for path in PATHS) for pattern in patterns)


class Tags(HTMLParser):
    """Elements and attributes as a browser parses them."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements |= {tag, *(f"{tag} {name}" for name, _ in attrs)}


async def test_whatever_strangers_write_is_text(settings: Settings) -> None:
    async with open_store(settings.store.url.reveal()) as store, store.read() as tx:
        document = explanation_document(await explain_round(tx, LAST, HOTKEYS[4]))
    tags = []
    for evil in (document, msgspec.structs.replace(document, tasks=tuple(map(_hostile, document.tasks)))):
        falls = {task["task_id"]: waterfall(task) for task in evil.tasks}
        text = page("why.html", Viewer(is_operator=True), document=evil, falls=falls).decode()
        tags.append(Tags())
        tags[-1].feed(text)
        assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", text)
    assert str(escape(HOSTILE[:30])) in text
    assert tags[1].elements == tags[0].elements


def _hostile(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _hostile(one, name) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_hostile(one, key) for one in value]
    return HOSTILE if isinstance(value, str) and key not in {"side", "task_id"} else value


async def test_the_operator_comes_in_with_the_token_and_goes_again(settings: Settings) -> None:
    with served(settings) as address:
        for path in (*PATHS, "/sign-in", "/nowhere", "/api/v1/openapi.json"):
            status, text, headers = await get(address, path, session="none")
            assert (status, headers["WWW-Authenticate"], TOKEN in text) == (401, "Bearer", False), path
            assert ('action="/sign-in"' in text) == (not path.startswith("/api"))
        jar = aiohttp.CookieJar(unsafe=True)
        async with aiohttp.ClientSession(cookie_jar=jar) as session:
            async with session.post(f"{address}/sign-in", data={"token": "wrong"}) as response:
                assert (response.status, "Set-Cookie" in response.headers) == (401, False)
            async with session.post(f"{address}/sign-in", data={"token": "x" * 10_000}) as response:
                assert response.status == 413
            async with session.post(f"{address}/sign-in", data={"token": TOKEN}, allow_redirects=False) as response:
                cookie = response.headers["Set-Cookie"]
                assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
                assert response.headers["Location"] == "/"
            async with session.get(f"{address}/weights") as response:
                assert response.status == 200
            async with session.post(f"{address}/sign-out", allow_redirects=False) as response:
                assert response.headers["Location"] == "/sign-in"
        value = cookie.partition("=")[2].partition(";")[0]
        assert (await get(address, "/", session=value))[0] == 401


async def test_a_miner_comes_in_with_its_link_and_sees_itself_alone(settings: Settings) -> None:
    uri = "//Miner//4"
    with served(settings) as address:
        made = await asyncio.to_thread(called, "wallet", "link", address, "--hotkey-uri", uri)
        assert made.returncode == 0
        link = made.stdout.strip().removeprefix(address)
        me = Signer.from_uri(uri).hotkey
        status, text, headers = await get(address, link, session="none")
        assert (status, f'href="/miners/{me}"' in text) == (200, True)
        assert (await get(address, link, session="none"))[0] == 403  # once
        cookie = headers["Set-Cookie"].partition("=")[2].partition(";")[0]
        assert (await get(address, "/", session=cookie))[2]["Location"] == f"/miners/{me}"
        for path, expected in {
            f"/miners/{me}": 404,  # never seen: this scheme's key is another hotkey than the world's
            f"/miners/{HOTKEYS[0]}": 403,
            f"/rounds/0/miners/{HOTKEYS[0]}": 403,
            "/rounds": 403,
            "/weights": 403,
            "/api/v1/status": 403,
            f"/api/v1/miners/{HOTKEYS[0]}": 403,
        }.items():
            assert (await get(address, path, session=cookie))[0] == expected, path


async def test_a_miner_s_pages_hide_what_would_help_it(settings: Settings) -> None:
    me = Signer.from_uri("//Miner//4", "ed25519")
    with served(settings) as address:
        nonce = (await get(address, "/sign-in/nonce", session="none"))[1]
        query = {"hotkey": me.hotkey, "nonce": nonce, "crypto": "ed25519"}
        query["signature"] = me.sign(sign_in_text("127.0.0.1", me.hotkey, nonce))
        _, _, headers = await get(
            address, "/enter?" + "&".join(f"{key}={one}" for key, one in query.items()), session="none"
        )
        cookie = headers["Set-Cookie"].partition("=")[2].partition(";")[0]
        status, text, _ = await get(address, f"/rounds/{LAST}/miners/{me.hotkey}", session=cookie)
        assert (status, "From nothing to what entered the window" in text) == (200, True)
        for hidden in ("Known faults", "Who reported", "right is", HOTKEYS[0]):
            assert hidden not in text
        assert (await get(address, f"/miners/{me.hotkey}", session=cookie))[0] == 200
