"""Miners in their own process that answer each dispatch rightly, with twenty findings, signed, after a while.

What runs this script tells it how many and prints where they are; it ends with its standard input.
"""

import asyncio
import sys
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec
from aiohttp import web
from world import answer_to

from samples.group import answers
from sssa.protocol.answer import Dispatch
from sssa.protocol.capabilities import Capabilities
from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import ASSESSED_TYPES
from sssa.protocol.sssa import Signature
from sssa.protocol.times import format_time

_MOST: Final = 16 * 1024 * 1024  # bytes of a request
_ANSWERS: Final = [answer.sssa for answer in answers()]


def signers(many: int) -> dict[str, Signer]:
    """Return the miners by hotkey."""
    return {signer.hotkey: signer for signer in (Signer.from_uri(f"//Miner//{number}") for number in range(many))}


class Miners:
    """All of them behind one port: the request says whom it is for."""

    def __init__(self, many: int, delay_s: float) -> None:
        self._signers = signers(many)
        self._numbers = {hotkey: number for number, hotkey in enumerate(self._signers)}
        self._delay_s = delay_s

    def application(self) -> web.Application:
        """Return what serves them."""
        app = web.Application(client_max_size=_MOST)
        app.add_routes([web.get("/v1/capabilities", self.declare), web.post("/v1/assessments", self.assess)])
        return app

    async def declare(self, request: web.Request) -> web.Response:
        """Declare every type."""
        signer, now = self._receiver(request), datetime.now(UTC)
        document = Capabilities(
            "1.0",
            signer.hotkey,
            ASSESSED_TYPES,
            "bench",
            format_time(now),
            format_time(now + timedelta(hours=12)),
            Signature(signer.hotkey, "sr25519", "0x" + "0" * 128),
        )
        return web.Response(body=msgspec.json.encode(signer.sign_document(document)))

    async def assess(self, request: web.Request) -> web.Response:
        """Answer, not sooner than the delay after the request came."""
        due = asyncio.get_running_loop().time() + self._delay_s
        signer = self._receiver(request)
        answer = answer_to(signer, msgspec.json.decode(await request.read(), type=Dispatch))
        full = _ANSWERS[self._numbers[signer.hotkey] % len(_ANSWERS)]
        sssa = signer.sign_document(msgspec.structs.replace(answer.sssa, analysis=full.analysis, policy=full.policy))
        body = msgspec.json.encode(msgspec.structs.replace(answer, sssa=sssa))
        await asyncio.sleep(due - asyncio.get_running_loop().time())
        return web.Response(body=body)

    def _receiver(self, request: web.Request) -> Signer:
        return self._signers[request.headers["X-Bittensor-Receiver"]]


async def serve(many: int, delay_s: float) -> None:
    """Listen, say where, and answer until standard input ends."""
    runner = web.AppRunner(Miners(many, delay_s).application(), access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), float(sys.argv[2])))
