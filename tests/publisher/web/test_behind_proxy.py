"""`validator serve` behind nginx with a bare `proxy_pass`: strangers come from this machine, and are strangers."""

import json
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import aiohttp
import pytest
from cli_store import PROGRAM, called, environment
from explained import HOTKEYS
from web_kit import played

from publisher.web.api import PREFIX, ROUTES
from publisher.web.screens import SCREENS
from validator.settings.load import load_settings

NGINX = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed (apt-get install nginx-light)")
CONFIG = """
{user}
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port};
        location / {{ proxy_pass http://{upstream}; }}
    }}
}}
"""
KNOWN = {"round_id": 0, "hotkey": HOTKEYS[0], "sequence": 0, "task_id": "x", "sha256": "ab" * 32}
PUBLIC = {PREFIX + route.path.format(**KNOWN) for route in ROUTES if route.access == "public"}
PRIVATE = [
    *(PREFIX + route.path.format(**KNOWN) for route in ROUTES if route.access != "public"),
    *(screen.path.format(**KNOWN) for screen in SCREENS),
    *("/sign-in", "/nowhere", f"{PREFIX}/nowhere", "/healthz"),
]


class Site(NamedTuple):
    """The address that nginx answers at, and the settings of what is behind it."""

    address: str
    config: Path


@pytest.fixture(
    scope="module", params=["", 'public = ["attestations"]\n'], ids=["nothing public", "attestations public"]
)
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("proxied")
    played(folder)
    config = folder / "played.toml"
    config.write_text(f'{config.read_text()}requests = 1_000.0\n{request.param}[log]\nformat = "json"\n')
    command = [*PROGRAM, "serve", "--config", str(config)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment())
    try:
        assert process.stdout is not None
        upstream = json.loads(process.stdout.readline())["addresses"][0]
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        user = "user root;" if os.getuid() == 0 else ""
        (folder / "nginx.conf").write_text(CONFIG.format(folder=folder, port=port, upstream=upstream, user=user))
        nginx = [str(NGINX), "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log")]
        subprocess.run(nginx, check=True, capture_output=True)  # it returns once it listens
        try:
            yield Site(f"http://127.0.0.1:{port}", config)
        finally:
            subprocess.run([*nginx, "-s", "stop"], check=True, capture_output=True)
    finally:
        process.kill()
        process.communicate()


def token_of(site: Site) -> str:
    return called("serve", "--show-token", "--config", str(site.config)).stdout.strip()


async def test_a_stranger_gets_401_for_all_that_is_not_public(site: Site) -> None:
    token = token_of(site)
    is_open = load_settings(site.config, {}).web.public
    forged = [
        {},
        {"Host": "localhost"},
        {"X-Forwarded-For": "127.0.0.1", "X-Real-IP": "127.0.0.1"},
        {"Cookie": "session="},
    ]
    async with aiohttp.ClientSession() as session:
        for path in (*PRIVATE, *PUBLIC, f"{PREFIX}/openapi.json"):
            expected = {200, 400, 404} if is_open and path not in PRIVATE else {401}
            for headers in forged:
                async with session.get(site.address + path, headers=headers, allow_redirects=False) as response:
                    assert response.status in expected, (path, headers)
            async with session.get(f"{site.address}{path}?token={token}", allow_redirects=False) as response:
                assert response.status in expected, path
        async with session.post(f"{site.address}{PREFIX}/skills", data=b"x") as response:
            assert response.status == 401
        async with session.delete(f"{site.address}{PREFIX}/rounds") as response:
            assert response.status == 401


async def test_the_operator_comes_in_by_token_with_a_browser_and_with_commands(site: Site) -> None:
    token = token_of(site)
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(cookie_jar=jar) as browser:
        async with browser.get(site.address) as response:
            assert (response.status, 'action="/sign-in"' in await response.text()) == (401, True)
        async with browser.post(f"{site.address}/sign-in", data={"token": f"{token[:-1]}x"}) as response:
            assert (response.status, "Set-Cookie" in response.headers) == (401, False)
        async with browser.post(f"{site.address}/sign-in", data={"token": token}, allow_redirects=False) as response:
            cookie = set(response.headers["Set-Cookie"].split("; "))
            assert response.status == 303
            assert cookie >= {"HttpOnly", "SameSite=Strict"}
        for path in ("/", "/rounds/0", f"{PREFIX}/rounds", f"{PREFIX}/openapi.json"):
            async with browser.get(site.address + path) as response:
                assert response.status == 200, path
    bearer = {"Authorization": f"Bearer {token}"}
    url = f"{site.address}{PREFIX}/rounds/0"
    async with aiohttp.ClientSession(headers=bearer) as command, command.get(url) as response:
        assert (response.status, "tasks" in await response.json()) == (200, True)
