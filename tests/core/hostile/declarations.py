"""Hostile capability documents: 64 KiB that every miner may send as often as it is asked."""

import asyncio
import random
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

import msgspec
from aiohttp import web

from hostile.documents import unterminated
from hostile.kinds import Made, kind
from hostile.strings import everything
from sssa.protocol.capabilities import Capabilities
from sssa.protocol.limits import MAX_CAPABILITIES_BODY, MIB
from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import SkillType
from sssa.protocol.sssa import Signature
from sssa.protocol.times import format_time

_LIMIT = MAX_CAPABILITIES_BODY
KEPT, REFUSED = "kept", "refused"


class Declaration:
    """One request for a miner's capabilities, to be answered with hostility."""

    def __init__(self, rng: random.Random, signer: Signer, request: web.Request) -> None:
        self.rng = rng
        self.signer = signer
        self.request = request

    @cached_property
    def document(self) -> Capabilities:
        return capabilities(self.signer, ())

    @cached_property
    def body(self) -> bytes:
        return msgspec.json.encode(self.document)

    def changed(self, **fields: Any) -> bytes:
        return msgspec.json.encode(self.signer.sign_document(msgspec.structs.replace(self.document, **fields)))


def capabilities(signer: Signer, types: tuple[SkillType, ...] = tuple(SkillType)) -> Capabilities:
    """A valid declaration; the hostile ones declare nothing, so that nobody is sent a task."""
    now = datetime.now(UTC)
    issued, expires = format_time(now), format_time(now + timedelta(hours=12))
    blank = Signature(signer.hotkey, "sr25519", "0x" + "0" * 128)
    document = Capabilities("1.0", signer.hotkey, types, "test", issued, expires, blank)
    return signer.sign_document(document)


@kind("declarations", "capabilities", REFUSED, dear=True)
async def declaration_that_never_ends(case: Declaration) -> Made:
    """64 KiB of an open string of escaped quotes: once twenty seconds of frozen event loop."""
    return unterminated(_LIMIT)


@kind("declarations", "capabilities", REFUSED, dear=True)
async def declaration_of_keys(case: Declaration) -> Made:
    """Six thousand keys, the last of them twice."""
    return b"{" + b"".join(b'"%x":0,' % number for number in range(6_000)) + b'"x":0,"x":0}'


@kind("declarations", "capabilities", REFUSED, dear=True)
async def declaration_of_brackets(case: Declaration) -> Made:
    """64 KiB of brackets and quotes."""
    return b"[" * 31 + b'"[",' * (_LIMIT // 4 - 10)


@kind("declarations", "capabilities", REFUSED)
async def declaration_too_large(case: Declaration) -> Made:
    """Ten megabytes instead of 64 KiB."""
    return case.body + b" " * (10 * MIB)


@kind("declarations", "capabilities", KEPT, REFUSED)
async def declaration_of_whitespace(case: Declaration) -> Made:
    """A right declaration filled up to the limit with white space."""
    return case.body + b" " * (_LIMIT - len(case.body))


@kind("declarations", "capabilities", REFUSED)
async def declaration_of_another(case: Declaration) -> Made:
    """Another miner's declaration."""
    return msgspec.json.encode(capabilities(Signer.from_uri("//Stranger")))


@kind("declarations", "capabilities", REFUSED)
async def declaration_forged(case: Declaration) -> Made:
    """A declaration for all types with the signature of one for none."""
    return msgspec.json.encode(msgspec.structs.replace(case.document, skill_types=tuple(SkillType)))


@kind("declarations", "capabilities", REFUSED)
async def declaration_out_of_time(case: Declaration) -> Made:
    """Dates in the future, in the past, a year apart, on the 30th of February, in other digits."""
    odd = ["2020-01-01T00:00:00Z", "2999-01-01T00:00:00Z", "2026-02-30T00:00:00Z", "\u0662" * 20, "", "0" * 4_000]
    return case.changed(**{case.rng.choice(["issued_at", "expires_at"]): case.rng.choice(odd)})


@kind("declarations", "capabilities", REFUSED)
async def declaration_of_odd_types(case: Declaration) -> Made:
    """Types that do not exist, or texts that want to be shown in place of a type."""
    return case.changed(skill_types=(case.rng.choice(["x", everything(), "workflow\n"]),))


@kind("declarations", "capabilities", KEPT)
async def declaration_of_injections(case: Declaration) -> Made:
    """A right declaration whose software has a name of escape codes and markup."""
    return case.changed(software=everything())


@kind("declarations", "capabilities", REFUSED)
async def declaration_that_drips(case: Declaration) -> Made:
    """One byte a second."""
    response = web.StreamResponse()
    await response.prepare(case.request)
    try:
        for byte in case.body[:20]:
            await response.write(bytes([byte]))
            await asyncio.sleep(1)
    except OSError:
        pass
    return response
