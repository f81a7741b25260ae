"""HTTP client of step services: `POST {url}/v1/steps`, signed, bounded, sent once (SPEC 12, 13)."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from yarl import URL

from sssa.protocol.limits import MAX_STEP_BODY
from sssa.protocol.reasons import Reason
from sssa.protocol.round import Axon
from sssa.protocol.signatures import Signer
from sssa.protocol.workflow_task import Tool
from sssa.sources import system_ns
from validator.kinds.workflow.step import StepReply
from validator.outgoing.addresses import AddressRefusedError, CheckedResolver, axon_address
from validator.outgoing.calls import Call, Reply
from validator.outgoing.exchange import Exchange, RequestSigner
from validator.outgoing.stalls import StalledError, StallsSince, long_stall, no_stalls
from validator.outgoing.wire import is_literal

_THREADS: Final = 4
_PATH: Final = "/v1/steps"
_OUTCOMES: Final[dict[Reason, Reason]] = {
    Reason.DEADLINE_CONNECT: Reason.STEP_CONNECTION,
    Reason.DEADLINE_TRANSPORT: Reason.STEP_TRANSPORT,
    Reason.DEADLINE_STATUS: Reason.STEP_STATUS,
    Reason.DEADLINE_LATE: Reason.STEP_TIMEOUT,
    Reason.PARSE_TOO_LARGE: Reason.STEP_TOO_LARGE,
}


class HttpStepClient:
    """Calls services as miners are called: one fresh connection, btauth headers bound to the service's hotkey.

    Redirects are not followed and nothing is inflated. Addresses that are not public are not called, whether the
    task's url names them or a name leads there. Certificates are not checked: what counts is signed by the hotkey.

    Args:
        connect_timeout_s: bound on opening a connection, TLS included; the step's own limit runs meanwhile.
        allow_private: call loopback and private addresses too (the local network).
        time_ns: nanoseconds since the Unix epoch, for nonces.
    """

    def __init__(
        self,
        signer: Signer,
        *,
        connect_timeout_s: float = 5.0,
        allow_private: bool = False,
        time_ns: Callable[[], int] = system_ns,
    ) -> None:
        self._signer = RequestSigner(signer, time_ns)
        self._connect_timeout_s = connect_timeout_s
        self._allow_private = allow_private
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="steps")

    async def call(self, tool: Tool, body: bytes, timeout_s: float, stalls: StallsSince = no_stalls) -> StepReply:
        """Send `body` to the tool's service, once (StalledError: see `StepClient`)."""
        url = step_url(tool.url)
        try:
            self._check_literal(url)
        except AddressRefusedError as error:
            return StepReply(Reason.STEP_CONNECTION, b"", error.detail)
        call = Call(tool.hotkey, None, url.raw_path, body, timeout_s, MAX_STEP_BODY, stalls=stalls)
        resolver = CheckedResolver(allow_private=self._allow_private)
        exchange = Exchange("POST", call, signer=self._signer, threads=self._threads, resolver=resolver)
        reply = await exchange.run(url, self._connect_timeout_s)
        if long_stall(stalls, reply.ended) is not None:
            raise StalledError(reply.detail)
        return _reply(reply, answered=exchange.answered)

    async def close(self) -> None:
        """Free the client's threads; no call may be open or follow."""
        self._threads.shutdown(wait=False)

    def _check_literal(self, url: URL) -> None:
        host = url.host or ""
        if is_literal(host):  # where a name leads, the resolver looks at
            axon_address(Axon(host, url.port or 0, url.scheme == "https"), allow_private=self._allow_private)


def step_url(url: str) -> URL:
    """Return where a tool's steps are sent."""
    return URL(url.rstrip("/") + _PATH, encoded=True)


def _reply(reply: Reply, *, answered: bool) -> StepReply:
    if reply.body is not None:
        with reply.body as body:
            return StepReply(None, body.read())
    if reply.reason == Reason.DEADLINE_TRANSPORT and not answered:
        return StepReply(Reason.STEP_CONNECTION, b"", reply.detail)
    outcome = None if reply.reason is None else _OUTCOMES.get(reply.reason)
    if outcome is None:
        raise RuntimeError(f"{reply.reason}: {reply.detail}")
    return StepReply(outcome, b"", reply.detail)
