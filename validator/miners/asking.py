"""Asking one miner what it can do, and reading what it says (SPEC 13)."""

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Final, NamedTuple

from validator.miners.calls import Call, MinerClient, Reply
from validator.protocol.capabilities import ExpiredError, IssuedLaterError, parse_capabilities
from validator.protocol.errors import ValidatorError
from validator.protocol.limits import MAX_CAPABILITIES_BODY
from validator.protocol.reasons import Reason
from validator.protocol.round import Axon
from validator.protocol.strict_json import JsonError
from validator.protocol.text import printable
from validator.protocol.times import parse_time
from validator.sources import Clock
from validator.workers.interface import TooCostlyError, Whose, WorkerKilledError, Workers

PATH: Final = "/v1/capabilities"
DEADLINE_S: Final = 5.0
_BY_FAULT: Final[Mapping[type[ValidatorError], Reason]] = {
    IssuedLaterError: Reason.DECLARATION_FUTURE,
    ExpiredError: Reason.DECLARATION_EXPIRED,
}


class Declaration(NamedTuple):
    """A valid declaration: whose, the signed bytes as they came, and its times."""

    hotkey: str
    document: bytes
    issued_at: datetime
    expires_at: datetime
    fetched_at: datetime


class Refused(NamedTuple):
    """Why what a miner said does not count.

    Attributes:
        reason, detail: the code and one harmless line.
        status: of HTTP; None where there was no response.
        said: the document as it came, where one did.
    """

    reason: Reason
    detail: str
    status: int | None
    said: bytes = b""


async def ask_declaration(
    client: MinerClient, workers: Workers, clock: Clock, hotkey: str, axon: Axon
) -> Declaration | Reason:
    """Return what the miner declares now, or why that does not count; it is read by a worker."""
    said = await hear_declaration(client, workers, clock, hotkey, axon)
    return said.reason if isinstance(said, Refused) else said


async def hear_declaration(
    client: MinerClient, workers: Workers, clock: Clock, hotkey: str, axon: Axon
) -> Declaration | Refused:
    """Return what `ask_declaration` does, and of what does not count also what is wrong with it."""
    reply = await client.get(Call(hotkey, axon, PATH, b"", DEADLINE_S, MAX_CAPABILITIES_BODY))
    if reply.reason is not None:
        return Refused(reply.reason, reply.detail, reply.status)
    body = _content(reply)
    now = clock.now()
    call = partial(parse_capabilities, body, hotkey=hotkey, now=now)
    try:
        document = await workers.run(Whose(hotkey), lambda: call, urgent=True)
    except (JsonError, TooCostlyError) as error:
        return Refused(
            _BY_FAULT.get(type(error), Reason.DECLARATION_INVALID), printable(str(error)), reply.status, body
        )
    except WorkerKilledError as error:
        return Refused(Reason.LOCAL_RESOURCES, error.detail, reply.status, body)
    issued, expires = parse_time(document.issued_at, "issued_at"), parse_time(document.expires_at, "expires_at")
    return Declaration(hotkey, body, issued, expires, now)


def _content(reply: Reply) -> bytes:
    """Return the body, or nothing at all, which no document is."""
    if reply.body is None:
        return b""
    with reply.body as body:
        return body.read()
