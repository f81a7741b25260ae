"""The step services: each serves its actions over HTTP, and four of them start and stop together."""

import asyncio
import hashlib
from collections.abc import Collection, Container
from typing import Final, Literal

from aiohttp import web

from miner.server import LocalServer, answer, refusal
from miner.services.actions import ParamsError
from miner.services.catalogue import BY_NAME, SERVICES, Action, Service, ServiceAddress
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.limits import MAX_PLAN_DEPTH, MIB
from sssa.protocol.signatures import Signer
from sssa.protocol.sssa import Signature
from sssa.protocol.strict_json import JsonError, decode
from sssa.protocol.workflow_run import StepAnswer, StepRequest, check_output
from sssa.sources import Clock

Fault = Literal["none", "breaks", "fails", "hangs"]

# Of 256 requests so many break off, fail and hang.
_BREAKS: Final = 6
_FAILS: Final = 4
_HANGS: Final = 2


def fault_of(seed: str, request: StepRequest) -> Fault:
    """Return what goes wrong with a request; another attempt is another draw."""
    name = f"{seed}|{request.run_id}|{request.node_id}|{request.attempt}"
    drawn = hashlib.sha256(name.encode()).digest()[0]
    if drawn < _BREAKS:
        return "breaks"
    if drawn < _BREAKS + _FAILS:
        return "fails"
    return "hangs" if drawn < _BREAKS + _FAILS + _HANGS else "none"


_HANG_S: Final = 60.0


class StepService:
    """Serves the actions of one service on its own loopback port.

    Args:
        seed: its faults follow from it; None for a service without any.
    """

    def __init__(
        self, service: Service, signer: Signer, callers: Container[str], clock: Clock, seed: str | None = None
    ) -> None:
        self.hotkey = signer.hotkey
        self._service = service
        self._signer = signer
        self._clock = clock
        self._seed = seed
        routes = [web.post("/v1/steps", self._steps)]
        self._server = LocalServer(self.hotkey, callers, clock, routes, max_body=MIB)

    async def start(self) -> str:
        """Listen on a free loopback port and return the url that a task names."""
        host, port = await self._server.start()
        return f"http://{host}:{port}"

    async def close(self) -> None:
        """Stop listening; open requests are cut off after half a second."""
        await self._server.close()

    async def _steps(self, request: web.Request) -> web.StreamResponse:
        body = await self._server.body(request)
        try:
            step = decode(body, StepRequest, limit=MIB, depth=2 * MAX_PLAN_DEPTH)
            action = self._action(step)
        except (JsonError, ParamsError) as error:
            return refusal(400, str(error))
        fault = "none" if self._seed is None else fault_of(self._seed, step)
        if fault == "breaks" and request.transport is not None:
            request.transport.abort()
        if fault in {"breaks", "fails"}:
            return refusal(503, "out of order")
        await self._clock.sleep(_HANG_S if fault == "hangs" else action.seconds)
        try:
            return answer(await asyncio.to_thread(self._work, action, step, body))
        except (JsonError, ParamsError) as error:
            return refusal(422, str(error))

    def _action(self, step: StepRequest) -> Action:
        action = BY_NAME.get((self._service, step.action))
        if step.service != self._service or action is None:
            raise ParamsError(f"the {self._service} service has no such action - at `action`")
        if action.cost_tao > step.max_cost_tao:
            raise ParamsError(f"this costs {action.cost_tao:g} TAO - at `max_cost_tao`")
        return action

    def _work(self, action: Action, step: StepRequest, request: bytes) -> StepAnswer:
        output = action.perform(step.params)
        check_output(output)
        unsigned = Signature(self.hotkey, "sr25519", "")
        return self._signer.sign_document(StepAnswer(sha256_hex(request), output, action.cost_tao, unsigned))


class LocalServices:
    """Every service on its own loopback port.

    Args:
        seed: the network's; hotkeys and faults follow from it.
        faults: whether they fail now and then, as the seed has it.
    """

    def __init__(self, seed: str, callers: Collection[str], clock: Clock, *, faults: bool = True) -> None:
        failing = seed if faults else None
        self._services: dict[Service, StepService] = {
            name: StepService(name, Signer.from_uri(f"//{seed}//service-{name}"), callers, clock, failing)
            for name in SERVICES
        }

    async def start(self) -> dict[Service, ServiceAddress]:
        """Listen; return where each is called."""
        return {name: ServiceAddress(await service.start(), service.hotkey) for name, service in self._services.items()}

    async def close(self) -> None:
        """Stop listening."""
        await asyncio.gather(*(service.close() for service in self._services.values()))
