"""Benchmark of judging: one answer through gates 1 to 6, compared with decoding it and verifying its signature."""

import base64
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import msgspec
from bittensor_core import CRYPTO_SR25519, verify_signature
from builders import expect
from harness import Case, per_second
from samples.group import SIGNERS, TASK, answers, bodies
from samples.traced_answer import traced

from sssa.kinds.assessment.judge import judge
from sssa.kinds.judging import Expected, Judged
from sssa.protocol.answer import Answer
from sssa.protocol.reasons import Reason
from sssa.protocol.sssa import signing_bytes

_SECONDS = 1.5
_PASSED = (Reason.ACCEPTED, Reason.ACCEPTED_EARLY)


def cases() -> Iterator[Case]:
    """Yield an answer of a content type and one of a runtime primary."""
    group = answers()
    yield _case(
        "answer of 20 findings, 9.6 KB",
        expect(TASK, "primary", SIGNERS[0].hotkey),
        bodies(group)[0],
        group[0],
        (),
        "bare decode, sr25519",
    )
    expected, answer, files = traced()
    yield _case(
        "runtime primary, 20 findings, 1 MB of traces",
        expected,
        msgspec.json.encode(answer),
        answer,
        tuple(files.values()),
        "bare decode, sr25519, inflate, bare decode of records",
    )


def _case(  # noqa: PLR0913, PLR0917 - an answer, and what no judging of it could leave out
    case: str, expected: Expected[Any], body: bytes, answer: Answer, traces: tuple[bytes, ...], floor_is: str
) -> Case:
    return Case(
        case,
        "answers/s",
        per_second(partial(_judged, expected, body)),
        per_second(_floor(body, answer, traces)),
        floor_is,
    )


def _judged(expected: Expected[Any], body: bytes) -> Judged:
    judged = judge(expected, body, _SECONDS)
    if judged.reason not in _PASSED:
        raise RuntimeError(f"{judged.reason}: {judged.detail}")
    return judged


def _floor(body: bytes, answer: Answer, traces: tuple[bytes, ...]) -> Callable[[], object]:
    signed, signature = signing_bytes(answer.sssa), answer.sssa.signature
    value, bundle = bytes.fromhex(signature.value[2:]), answer.trace_bundle

    def floor() -> None:
        msgspec.json.decode(body)
        verify_signature(signed, value, signature.hotkey, CRYPTO_SR25519)
        if bundle is not None:
            zlib.decompress(base64.b64decode(bundle), wbits=31)
            for file in traces:
                for line in file.splitlines():
                    msgspec.json.decode(line)

    return floor
