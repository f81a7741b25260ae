"""Miners without a network, for simulation and tests: a callable gives the replies, a clock the time. No I/O."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from sssa.protocol.canonical import sha256_hex
from sssa.protocol.reasons import Reason
from sssa.protocol.results import RawAnswer
from sssa.sources import Clock
from validator.outgoing.addresses import AddressRefusedError, axon_address
from validator.outgoing.calls import Body, Call, Reply, Sent
from validator.outgoing.stalls import overlap

_OK = 200
_INSTANT_S = 1e-6  # sums of seconds are not exact


@dataclass(frozen=True, slots=True)
class ScriptedReply:
    """A scripted miner's answer: when its last byte comes, and its status, None for a connection that breaks then.

    `out_of` is what this machine has none of when it is called; None for enough of everything.
    """

    body: bytes = b""
    seconds: float = 0.0
    status: int | None = _OK
    connects: bool = True
    out_of: str | None = None
    no_route: bool = False


Script = Callable[[str, Call], ScriptedReply]
"""Takes the method (POST or GET) and the call."""


class ScriptedMinerClient:
    """A `MinerClient` whose miners follow a script; gate 1 and the body limit hold as over HTTP.

    The script decides every reply when the request is sent; most scripted miners have no address.
    """

    def __init__(self, script: Script, clock: Clock, *, allow_private: bool = True) -> None:
        self._script = script
        self._clock = clock
        self._allow_private = allow_private

    async def post(self, call: Call, sent: Sent | None = None) -> Reply:
        """Send `call` as POST to the script."""
        return await self._call("POST", call, sent)

    async def get(self, call: Call, sent: Sent | None = None) -> Reply:
        """Send `call` as GET to the script."""
        return await self._call("GET", call, sent)

    async def close(self) -> None:
        """Do nothing: there is nothing to free."""

    async def _call(self, method: str, call: Call, sent: Sent | None) -> Reply:
        if call.axon is None:
            return Reply(Reason.DEADLINE_NO_AXON, None, None, None, "")
        try:
            axon_address(call.axon, allow_private=self._allow_private)
        except AddressRefusedError as error:
            return Reply(Reason.DEADLINE_AXON_REFUSED, None, None, None, error.detail)
        reply = self._script(method, call)
        began = self._clock.monotonic()
        if reply.out_of is not None:
            return Reply(Reason.LOCAL_RESOURCES, None, None, None, f"no {reply.out_of}", began)
        if reply.no_route or not reply.connects:
            return Reply(
                Reason.DEADLINE_CONNECT, None, None, None, "the script says so", began, no_route=reply.no_route
            )
        if sent is not None:
            await sent()
        sending = self._clock.monotonic()
        await self._clock.sleep(min(reply.seconds, call.deadline_s))
        while (
            remaining_s := sending + min(reply.seconds, self._limit_s(call, sending)) - self._clock.monotonic()
        ) > _INSTANT_S:
            await self._clock.sleep(remaining_s)
        now = self._clock.monotonic()
        judged = _judge(reply, call, late=reply.seconds > self._limit_s(call, sending))
        heard = None if judged.status is None else (now, now)
        ended = now if judged.reason == Reason.DEADLINE_TRANSPORT else None
        return replace(judged, sending=sending, heard=heard, ended=ended)

    def _limit_s(self, call: Call, sending: float) -> float:
        return call.deadline_s + overlap(call.stalls(sending), sending, self._clock.monotonic())


def _judge(reply: ScriptedReply, call: Call, *, late: bool) -> Reply:
    if late:
        return Reply(Reason.DEADLINE_LATE, None, call.deadline_s, None, "time is up")
    if reply.status is None:
        return Reply(Reason.DEADLINE_TRANSPORT, None, reply.seconds, None, "the script says so")
    if reply.status != _OK:
        return Reply(Reason.DEADLINE_STATUS, reply.status, reply.seconds, None, f"status {reply.status}")
    if len(reply.body) > call.limit:
        read = _raw(reply.body[: call.limit], complete=False)
        return Reply(
            Reason.PARSE_TOO_LARGE, reply.status, reply.seconds, None, f"more than {call.limit} bytes", raw=read
        )
    return Reply(None, reply.status, reply.seconds, Body(reply.body), "", raw=_raw(reply.body, complete=True))


def _raw(body: bytes, *, complete: bool) -> RawAnswer:
    return RawAnswer(sha256_hex(body), len(body), complete)
