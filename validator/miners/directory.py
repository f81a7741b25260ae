"""Capability documents of all registered miners: asked for, read by a worker, the last valid one stored (SPEC 13)."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Final, NamedTuple

import msgspec
import structlog

from sssa.protocol import typed
from sssa.protocol.capabilities import Capabilities, ExpiredError, IssuedLaterError, parse_capabilities
from sssa.protocol.errors import ValidatorError
from sssa.protocol.limits import MAX_CAPABILITIES_BODY
from sssa.protocol.reasons import Reason
from sssa.protocol.round import Axon, MetagraphSnapshot
from sssa.protocol.strict_json import JsonError
from sssa.protocol.text import printable
from sssa.protocol.times import parse_time
from sssa.sources import Clock
from validator.cancellation import together
from validator.miners.client import MinerClient
from validator.outgoing.calls import Call, Reply
from validator.store import PATIENCE_S, Store, Transaction
from validator.telemetry.events import Event
from validator.workers.interface import Here, TooCostlyError, Whose, WorkerKilledError, Workers

PATH: Final = "/v1/capabilities"
DEADLINE_S: Final = 5.0
_BY_FAULT: Final[Mapping[type[ValidatorError], Reason]] = {
    IssuedLaterError: Reason.DECLARATION_FUTURE,
    ExpiredError: Reason.DECLARATION_EXPIRED,
}


class Declaration(NamedTuple):
    """A valid declaration: its hotkey, the signed bytes as received, and its times."""

    hotkey: str
    document: bytes
    issued_at: datetime
    expires_at: datetime
    fetched_at: datetime


class Refused(NamedTuple):
    """The reason why a declaration does not count, with the document as received and the HTTP status, if any."""

    reason: Reason
    detail: str
    status: int | None
    body: bytes = b""


async def ask_declaration(
    client: MinerClient, workers: Workers, clock: Clock, hotkey: str, axon: Axon
) -> Declaration | Refused:
    """Return the miner's current declaration, or why it does not count; a worker parses it."""
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
    """Return the body; without one an empty one, which is no document."""
    if reply.body is None:
        return b""
    with reply.body as body:
        return body.read()


_MOST_OPEN: Final = 32
_BY_CLOCK: Final = (Reason.DECLARATION_FUTURE, Reason.DECLARATION_EXPIRED)

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Declared:
    """Result of the last poll of the miners' declarations.

    Attributes:
        queried: miners that were asked.
        valid: declarations that count.
        refused: why the others do not, and how many for each.
        clock: how many of those are what a clock that is off makes of good ones.
    """

    queried: int
    valid: int
    refused: Mapping[str, int] = field(default_factory=dict)
    clock: int = 0


@dataclass(frozen=True, slots=True)
class CapabilityDirectory:
    """The last valid declaration of each miner, requested by the validator's hotkey and parsed by workers.

    `tell` is called with the result of every refresh.
    """

    client: MinerClient
    store: Store
    clock: Clock
    hotkey: str
    workers: Workers = field(default_factory=Here)
    tell: Callable[[Declared], None] = lambda _: None

    async def refresh(self, snapshot: MetagraphSnapshot) -> Declared:
        """Request the declaration of every registered miner that has an axon, and store the valid ones.

        A miner that does not answer, or answers with an invalid document or one issued before the stored one, keeps
        what is stored until that expires.
        """
        began = self.clock.monotonic()
        turns = asyncio.Semaphore(_MOST_OPEN)
        queried = [(n.hotkey, n.axon) for n in snapshot.neurons if n.axon is not None and n.hotkey != self.hotkey]
        answers = await together(self._fetch(hotkey, axon, turns) for hotkey, axon in queried)
        for (hotkey, axon), answer in zip(queried, answers, strict=True):
            if isinstance(answer, Refused):
                shown = {"reason": answer.reason, "status": answer.status, "detail": printable(answer.detail)}
                log.debug(Event.DECLARATION_REFUSED, hotkey=hotkey, address=f"{axon.ip}:{axon.port}", **shown)
        refused = Counter(answer.reason for answer in answers if isinstance(answer, Refused))
        fetched = [answer for answer in answers if isinstance(answer, Declaration)]
        kept = await self._keep(fetched)
        refused[Reason.DECLARATION_OLDER] += len(fetched) - kept
        reasons = {str(reason): number for reason, number in sorted(refused.items()) if number}
        declared = Declared(len(queried), kept, reasons, sum(refused[reason] for reason in _BY_CLOCK))
        self.tell(declared)
        log.info(
            Event.CAPABILITIES_REFRESHED,
            queried=len(queried),
            valid=kept,
            refused=len(queried) - kept,
            reasons=reasons,
            seconds=round(self.clock.monotonic() - began, 3),
        )
        return declared

    async def _fetch(self, hotkey: str, axon: Axon, turns: asyncio.Semaphore) -> Declaration | Refused:
        async with turns:
            return await ask_declaration(self.client, self.workers, self.clock, hotkey, axon)

    async def _keep(self, fetched: list[Declaration]) -> int:
        """Store the documents that are not older than the stored ones; return their number."""

        async def write(tx: Transaction) -> int:
            kept = 0
            stored = await tx.capabilities.valid(self.clock.now())
            for each in fetched:
                if each.issued_at >= _issued_at(stored.get(each.hotkey), each.issued_at):
                    await tx.capabilities.put(*each)
                    kept += 1
            return kept

        return await self.store.lasting(write, patience_s=PATIENCE_S)


def _issued_at(document: bytes | None, otherwise: datetime) -> datetime:
    """Return when a stored document was issued; `otherwise` for none or one of another version's form."""
    try:
        if document is not None:
            return parse_time(typed.decode(document, Capabilities).issued_at, "issued_at")
    except (msgspec.MsgspecError, JsonError):
        pass
    return otherwise
