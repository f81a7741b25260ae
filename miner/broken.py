"""Miners whose answers must not pass the gates."""

from collections.abc import AsyncIterator
from typing import Final

import msgspec

from miner.assessment import Assessment, Response, encode
from miner.careless import NOTHING
from miner.draws import digest
from validator.protocol import limits
from validator.protocol.answer import Answer, answer_limit
from validator.protocol.signatures import Signer
from validator.protocol.sssa import Skill, signing_bytes

_CHUNK: Final = 64 * 1024
_REMEMBERED: Final = 64


class Garbage:
    """Sends bytes that are no JSON."""

    async def respond(self, assessment: Assessment) -> Response:
        """Return bytes that follow from the task and mean nothing."""
        return b"\x89no JSON\r\n" + digest(assessment.kit.signer.hotkey, assessment.dispatch.task_id)


class Oversized:
    """Streams more than the limit of its role."""

    async def respond(self, assessment: Assessment) -> Response:
        """Return the beginning of a document that does not end in time."""
        return _endless(answer_limit(runtime_primary=assessment.runtime_primary) + limits.MIB)


async def _endless(size: int) -> AsyncIterator[bytes]:
    yield b'{"sssa": "'
    for _ in range(-(-size // _CHUNK)):
        yield b"x" * _CHUNK


class WrongSignature:
    """Signs with another key and names its own hotkey."""

    async def respond(self, assessment: Assessment) -> Response:
        """Return a thorough answer whose signature is not the hotkey's."""
        answer = await assessment.answer(await assessment.analysis(), run=False)
        other = Signer.from_uri(f"//{assessment.kit.signer.hotkey}")
        value = other.sign(signing_bytes(answer.sssa))
        signature = msgspec.structs.replace(answer.sssa.signature, value=value)
        sssa = msgspec.structs.replace(answer.sssa, signature=signature)
        return encode(msgspec.structs.replace(answer, sssa=sssa))


class Replayed:
    """Sends what it made for an earlier round: best for the same bundle, else the same type, else anything.

    In its first round it has nothing yet and sends an SSSA for a bundle that nobody dispatched.
    """

    def __init__(self) -> None:
        self._made: list[tuple[str, Answer]] = []

    async def respond(self, assessment: Assessment) -> Response:
        """Return an old answer and remember the new one."""
        fresh = await assessment.answer(await assessment.analysis(), run=False)
        earlier = [answer for round_id, answer in self._made if round_id != assessment.dispatch.round_id]
        self._made = [*self._made, (assessment.dispatch.round_id, fresh)][-_REMEMBERED:]
        if not earlier:
            return encode(await _for_another_bundle(assessment))
        return encode(max(earlier, key=lambda answer: _likeness(answer.sssa.skill, fresh.sssa.skill)))


def _likeness(old: Skill, new: Skill) -> tuple[bool, bool, str]:
    return old.bundle_sha256 == new.bundle_sha256, old.skill_type == new.skill_type, old.nonce


async def _for_another_bundle(assessment: Assessment) -> Answer:
    dispatch = msgspec.structs.replace(
        assessment.dispatch,
        bundle_sha256=digest("bundle", assessment.dispatch.task_id).hex(),
        nonce=digest("nonce", assessment.dispatch.task_id).hex(),
    )
    canned = Assessment(dispatch, {}, assessment.kit, assessment.clock, assessment.received)
    return await canned.answer(NOTHING, run=False)
