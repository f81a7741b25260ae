"""A wrong signature is told what it is right over, where that is a usual mistake."""

import gzip
import hashlib
import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from miner_kit import VALIDATOR

from miner.check.signed import mistake_in, signed_instead
from validator.protocol.canonical import canonical_bytes
from validator.protocol.reasons import Reason
from validator.protocol.signatures import Signer
from validator.workers.interface import Here

MINER = Signer.from_uri("//Miner")
BLANK = {"hotkey": MINER.hotkey, "crypto": "sr25519"}
DOCUMENT: dict[str, Any] = {"risk": 1.0, "found": "naïve", "about": {"b": 1, "a": 2}, "signature": BLANK}


def without(document: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key != name}


MISTAKES: dict[str, Callable[[dict[str, Any]], bytes]] = {
    "the sha256 of the canonical bytes": lambda one: hashlib.sha256(canonical_bytes(one)).digest(),
    "the hex of their sha256": lambda one: hashlib.sha256(canonical_bytes(one)).hexdigest().encode(),
    "the canonical bytes between": lambda one: b"<Bytes>" + canonical_bytes(one) + b"</Bytes>",
    "the document without its signature": lambda one: canonical_bytes(without(one, "signature")),
    "the document with an empty signature.value": lambda one: canonical_bytes(
        one | {"signature": one["signature"] | {"value": ""}}
    ),
    "JSON whose numbers": lambda one: json.dumps(
        one, sort_keys=True, separators=(",", ":"), ensure_ascii=False
    ).encode(),
    "JSON with letters escaped": lambda one: json.dumps(one, sort_keys=True, separators=(",", ":")).encode(),
    "JSON with spaces after": lambda one: json.dumps(one, sort_keys=True).encode(),
    "JSON whose keys are not sorted": lambda one: json.dumps(one, separators=(",", ":")).encode(),
    "JSON with spaces, whose keys": lambda one: json.dumps(one).encode(),
}


def sent(data: bytes, signer: Signer = MINER) -> dict[str, Any]:
    return DOCUMENT | {"signature": BLANK | {"value": signer.sign(data)}}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_usual_mistakes_are_named_in_answers_and_declarations(mistake: str) -> None:
    document = sent(MISTAKES[mistake](DOCUMENT))
    for body in (document, {"sssa": document, "trace_bundle": None}):
        assert signed_instead(json.dumps(body).encode(), MINER.hotkey).startswith(f"It is right over {mistake}")


def test_another_key_or_nonsense_is_not_explained_away() -> None:
    assert signed_instead(json.dumps(sent(b"anything")).encode(), MINER.hotkey) == ""
    assert signed_instead(json.dumps(sent(canonical_bytes(DOCUMENT), VALIDATOR)).encode(), MINER.hotkey) == ""


async def test_what_is_signed_rightly_is_not_told_that_it_is_not_and_gzip_is_named() -> None:
    document = {"issued_at": "2026-01-01T00:00:00+00:00", "max_concurrent": 2, "signature": BLANK}
    document["signature"] = BLANK | {"value": MINER.sign(canonical_bytes(document))}
    body = json.dumps(document).encode()
    assert await mistake_in(lambda: body, Reason.DECLARATION_INVALID, MINER.hotkey, Here()) == ""
    for reason in (Reason.DECLARATION_INVALID, Reason.PARSE_SCHEMA):
        assert "gzip" in await mistake_in(lambda: gzip.compress(body), reason, MINER.hotkey, Here())


async def test_a_document_that_fails_for_another_reason_is_not_explained() -> None:
    body = json.dumps(sent(json.dumps(DOCUMENT).encode())).encode()
    assert await mistake_in(lambda: body, Reason.VALIDITY_SIGNATURE, MINER.hotkey, Here())
    assert await mistake_in(lambda: body, Reason.VALIDITY_NONCE, MINER.hotkey, Here()) == ""


STRANGE = (
    b"",
    b"[]",
    b"{}",
    b"[" * 60_000,
    b'{"signature": 1}',
    b'{"sssa": []}',
    b'{"signature": {"value": 1, "crypto": 2}}',
    msgspec.json.encode({"big": 2**60, "signature": BLANK | {"value": "0x00"}}),
)


@pytest.mark.parametrize("body", STRANGE)
async def test_whatever_a_stranger_sent_is_looked_at_without_harm(body: bytes) -> None:
    for reason in (Reason.VALIDITY_SIGNATURE, Reason.DECLARATION_INVALID, Reason.PARSE_SCHEMA):
        assert await mistake_in(lambda: body, reason, MINER.hotkey, Here()) == ""
