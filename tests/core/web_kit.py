"""A played store with its chain's file, and the API and pages served from it, in a thread of this process."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import structlog
from explained import HOTKEYS, assorted
from world import VALIDATOR

from localnet.chain.subnet import save_state
from publisher.web.admission import Admission
from publisher.web.server import BOUNDS, web_app
from publisher.web.views import Views
from sssa.sources import Clock, SystemClock
from validator.incoming.server import BoundedServer
from validator.settings.load import load_settings
from validator.settings.model import HealthSettings, Settings, WebSettings
from validator.store import open_store
from validator.store.repositories.weight_submissions import PlannedWeights

TOKEN: Final = "an-operator-s-token"
OPERATOR: Final = {"Authorization": f"Bearer {TOKEN}"}
EVIL: Final = "<script>alert('\u202eevil')</script>"


REPORT: Final = {
    "status": "degraded",
    "conditions": [
        {"name": "gates_behind", "severity": "degraded", "meaning": "It is slow.", "detail": EVIL, "advice": "Wait."}
    ],
    "checks": {"rounds": {"last_ended": "4", "last_advice": {"few_miners": "few_miners: too few. Find some."}}},
}


def played(folder: Path) -> Settings:
    """Play the assorted rounds and open one more, submit weights, and return settings with the chain beneath them."""
    url, chain = f"sqlite:///{folder}/played.sqlite", folder / "chain.json"
    with structlog.testing.capture_logs():
        asyncio.run(_play(url, chain))
    config = folder / "played.toml"
    config.write_text(
        f'[validator]\nnetuid = 1\n[store]\nurl = "{url}"\n[chain]\nkind = "simulated"\nstate = "{chain}"\n'
        f"[health]\nport = 1\n[web]\napi = true\nport = 0\n"
    )
    return load_settings(config, {})


async def _play(url: str, chain: Path) -> None:
    async with open_store(url, create=True) as store:
        world = await assorted(store)
        await world.preparer.prepare(await world.chain.snapshot())
        weights = dict(zip(HOTKEYS, (0.4, 0.3, 0.2), strict=False))
        uids = {uid: weights.get(hotkey, 0.0) for hotkey, uid in await _uids(store)}
        world.subnet.set_weights(VALIDATOR.hotkey, 0, {uid: share for uid, share in uids.items() if share})
        save_state(world.subnet.state, chain)
        async with store.begin() as tx:
            for epoch, message in ((1, EVIL), (2, None)):
                at = world.clock.now() + timedelta(hours=epoch)
                planned = PlannedWeights(weights, weights, 0.1, {1: 26_214, 2: 19_661})
                made = await tx.weights.prepare(1, 0, epoch, planned, at)
                await tx.weights.update(made.id, "confirmed", at, block=80 + epoch, message=message, extrinsic="0x1")


async def _uids(store: Any) -> list[tuple[str, int]]:
    async with store.read() as tx:
        return [(hotkey, uid) for hotkey, uid, _ in await tx.miners.uids()]


@contextmanager
def served(settings: Settings, clock: Clock | None = None, **web: Any) -> Iterator[str]:
    """Serve the API and the pages until the end; give the address."""
    settings = settings.model_copy(
        update={"web": WebSettings(api=True, port=0, **{"requests": 10_000.0, "token": TOKEN, **web})}
    )
    started, addresses = threading.Event(), list[str]()
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()

    async def serve() -> None:
        now = clock or SystemClock()
        try:
            async with Views.opened(settings, now) as views:
                admission = Admission(settings.web, str(settings.web.token), now)
                server = await BoundedServer("web", web_app(views, admission), BOUNDS).start(settings.web.host, 0)
                addresses.append("http://{}:{}".format(*server.addresses[0]))
                started.set()
                await stop.wait()
                await server.close()
        finally:
            started.set()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), daemon=True)
    thread.start()
    started.wait()
    try:
        yield addresses[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()


@contextmanager
def reported(settings: Settings) -> Iterator[Settings]:
    """Answer as a validator's health endpoint would; give settings that name it."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(REPORT).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield settings.model_copy(update={"health": HealthSettings(port=server.server_address[1])})
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
