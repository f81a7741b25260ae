"""Asking one miner what it can do, and reading what it says (SPEC 13)."""

from datetime import datetime
from functools import partial
from typing import Final, NamedTuple

from validator.miners.calls import Call, MinerClient, Reply
from validator.protocol.capabilities import ExpiredError, IssuedLaterError, parse_capabilities
from validator.protocol.limits import MAX_CAPABILITIES_BODY
from validator.protocol.reasons import Reason
from validator.protocol.round import Axon
from validator.protocol.strict_json import JsonError
from validator.protocol.times import parse_time
from validator.sources import Clock
from validator.workers.interface import TooCostlyError, Whose, Workers

PATH: Final = "/v1/capabilities"
DEADLINE_S: Final = 5.0


class Declaration(NamedTuple):
    """A valid declaration: whose, the signed bytes as they came, and its times."""

    hotkey: str
    document: bytes
    issued_at: datetime
    expires_at: datetime
    fetched_at: datetime


async def ask_declaration(
    client: MinerClient, workers: Workers, clock: Clock, hotkey: str, axon: Axon
) -> Declaration | Reason:
    """Return what the miner declares now, or why that does not count; it is read by a worker."""
    reply = await client.get(Call(hotkey, axon, PATH, b"", DEADLINE_S, MAX_CAPABILITIES_BODY))
    if reply.reason is not None:
        return reply.reason
    body = _content(reply)
    now = clock.now()
    call = partial(parse_capabilities, body, hotkey=hotkey, now=now)
    try:
        document = await workers.run(Whose(hotkey), lambda: call, urgent=True)
    except IssuedLaterError:
        return Reason.DECLARATION_FUTURE
    except ExpiredError:
        return Reason.DECLARATION_EXPIRED
    except (JsonError, TooCostlyError):
        return Reason.DECLARATION_INVALID
    issued, expires = parse_time(document.issued_at, "issued_at"), parse_time(document.expires_at, "expires_at")
    return Declaration(hotkey, body, issued, expires, now)


def _content(reply: Reply) -> bytes:
    """Return the body, or nothing at all, which no document is."""
    if reply.body is None:
        return b""
    with reply.body as body:
        return body.read()
