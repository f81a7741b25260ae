"""First contact with an owner's miners that run elsewhere: each is asked over HTTP for its declaration."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from localnet.own.miners_file import Elsewhere, MinersFileError
from localnet.roster import OWN, Resident
from miner.check.target import TargetError, axon_of
from sssa.protocol import limits, typed
from sssa.protocol.capabilities import Capabilities
from sssa.protocol.reasons import Reason
from sssa.protocol.round import Axon
from sssa.protocol.signatures import Signer, is_hotkey
from sssa.protocol.strict_json import JsonError, decode_plain
from sssa.protocol.text import printable
from sssa.sources import Clock
from validator.miners.client import HttpMinerClient
from validator.miners.directory import DEADLINE_S, PATH, Declaration, Refused, ask_declaration
from validator.outgoing.calls import Call
from validator.workers.interface import Here

_NOBODY: Final = "no miner answers: start it, or take it out"


class Guest(NamedTuple):
    """A miner that runs elsewhere and was met: who it is here, its hotkey, where it listens."""

    resident: Resident
    hotkey: str
    axon: Axon


async def meet(miners: Iterable[Elsewhere], callers: Sequence[Signer], clock: Clock) -> tuple[Guest, ...]:
    """Return the miners, each of which answered every caller with a declaration that counts.

    Raises:
        MinersFileError: one did not, or two have one hotkey; the text names the field.
    """
    guests: dict[str, Guest] = {}
    for miner in miners:
        guest = await _met(miner, callers, clock)
        if guest.hotkey in guests or guest.hotkey in {caller.hotkey for caller in callers}:
            raise MinersFileError(f"{guest.hotkey} is taken already - at `{miner.field}.hotkey`")
        guests[guest.hotkey] = guest
    return tuple(guests.values())


async def _met(miner: Elsewhere, callers: Sequence[Signer], clock: Clock) -> Guest:
    where = f"{miner.field}.url"
    try:
        axon = await asyncio.to_thread(axon_of, miner.url, where)
    except TargetError as error:
        raise MinersFileError(error.detail) from None
    for caller in callers:
        declared = await _declared(miner, axon, caller, clock)
    types = tuple(typed.decode(declared.document, Capabilities).usable_types)
    if not types:
        raise MinersFileError(f"it declares no type that counts: a runtime type needs an image - at `{where}`")
    return Guest(Resident(miner.name, OWN, skill_types=types), declared.hotkey, axon)


async def _declared(miner: Elsewhere, axon: Axon, caller: Signer, clock: Clock) -> Declaration:
    client = HttpMinerClient(caller, allow_private=True)
    try:
        hotkey = miner.hotkey or await _named_hotkey(client, axon, miner, caller)
        # Its own author named it, and a declaration is small: no process of its own reads it.
        heard = await ask_declaration(client, Here(), clock, hotkey, axon)
    finally:
        await client.close()
    if isinstance(heard, Refused):
        raise MinersFileError(_refused(miner, heard, caller))
    return heard


async def _named_hotkey(client: HttpMinerClient, axon: Axon, miner: Elsewhere, caller: Signer) -> str:
    """Return the hotkey that a miner names to who does not know it: most refuse what is not bound to theirs."""
    reply = await client.get(Call(caller.hotkey, axon, PATH, b"", DEADLINE_S, limits.MAX_CAPABILITIES_BODY))
    if reply.body is None:
        if reply.status is None:
            raise MinersFileError(f"{_NOBODY} ({reply.reason}) - at `{miner.field}.url`")
        status = f"status {reply.status}: it answers only callers that know its hotkey"
        raise MinersFileError(f"{status}; name it - at `{miner.field}.hotkey`")
    with reply.body as body:
        raw = body.read()
    try:
        named = decode_plain(raw, limit=limits.MAX_CAPABILITIES_BODY)["hotkey"]
    except (JsonError, TypeError, KeyError, msgspec.MsgspecError):
        named = None
    if not isinstance(named, str) or not is_hotkey(named):
        raise MinersFileError(f"what answers is no miner: it names no hotkey - at `{miner.field}.url`")
    return named


def _refused(miner: Elsewhere, heard: Refused, caller: Signer) -> str:
    where = f"{miner.field}.url"
    if heard.reason is Reason.DEADLINE_CONNECT or (heard.status is None and heard.reason.gate):
        return f"{_NOBODY} ({heard.reason}: {heard.detail}) - at `{where}`"
    status = f"status {heard.status}; answer requests signed by {caller.hotkey}"
    detail = status if heard.reason is Reason.DEADLINE_STATUS else printable(heard.detail)
    return f"what answers is no miner that counts: {detail} - at `{where}`"
