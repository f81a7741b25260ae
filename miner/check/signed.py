"""Usual mistakes in a first signature: the bytes that a wrong signature is right over (SPEC 13)."""

import hashlib
import json
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import msgspec

from validator.protocol.canonical import NotCanonicalError, canonical_bytes
from validator.protocol.reasons import Reason
from validator.protocol.signatures import verify
from validator.workers.interface import TooCostlyError, Whose, Workers

_Document = dict[str, Any]
_NO_DOCUMENT: Final = (msgspec.MsgspecError, NotCanonicalError, AttributeError, LookupError, RecursionError, TypeError)
_GZIP: Final = b"\x1f\x8b"
_OF_SIGNATURES: Final = frozenset({Reason.VALIDITY_SIGNATURE, Reason.DECLARATION_INVALID})


def _dumped(**options: Any) -> Callable[[_Document], bytes]:
    return lambda document: json.dumps(_to_sign(document), **options).encode()


def _to_sign(document: _Document) -> _Document:
    signature = {name: value for name, value in document["signature"].items() if name != "value"}
    return document | {"signature": signature}


def _canonical(document: _Document) -> bytes:
    return canonical_bytes(_to_sign(document))


_MISTAKES: Final[tuple[tuple[str, Callable[[_Document], bytes]], ...]] = (
    ("the sha256 of the canonical bytes", lambda one: hashlib.sha256(_canonical(one)).digest()),
    ("the hex of their sha256", lambda one: hashlib.sha256(_canonical(one)).hexdigest().encode()),
    ("the canonical bytes between <Bytes> and </Bytes>", lambda one: b"<Bytes>" + _canonical(one) + b"</Bytes>"),
    (
        "the document without its signature: hotkey and crypto stay in",
        lambda one: canonical_bytes({name: value for name, value in one.items() if name != "signature"}),
    ),
    (
        "the document with an empty signature.value: leave the value out",
        lambda one: canonical_bytes(one | {"signature": one["signature"] | {"value": ""}}),
    ),
    (
        "JSON whose numbers are not written as RFC 8785 does (1.0 for 1)",
        _dumped(sort_keys=True, separators=(",", ":"), ensure_ascii=False),
    ),
    ("JSON with letters escaped that RFC 8785 leaves alone", _dumped(sort_keys=True, separators=(",", ":"))),
    ("JSON with spaces after , and :", _dumped(sort_keys=True)),
    ("JSON with spaces after , and :", _dumped(sort_keys=True, ensure_ascii=False)),
    ("JSON whose keys are not sorted", _dumped(separators=(",", ":"))),
    ("JSON whose keys are not sorted", _dumped(separators=(",", ":"), ensure_ascii=False)),
    ("JSON with spaces, whose keys are not sorted", _dumped()),
)


async def mistake_in(read: Callable[[], bytes], reason: Reason, hotkey: str, workers: Workers) -> str:
    """Return a line about a body that is compressed or signed wrongly, else ""; a worker looks at it."""
    if reason not in {*_OF_SIGNATURES, Reason.PARSE_SCHEMA}:
        return ""
    body = read()
    if body.startswith(_GZIP):
        return "It is compressed with gzip: send it plain, whatever the header Content-Encoding says"
    if reason is Reason.PARSE_SCHEMA:
        return ""
    try:
        return await workers.run(Whose(hotkey), lambda: partial(signed_instead, body, hotkey))
    except TooCostlyError:
        return ""


def signed_instead(body: bytes, hotkey: str) -> str:
    """Return what the signature in the body is right over; "" where that is no usual mistake. Takes a second at most.

    The body is that of an answer with an `sssa`, of a plan or of a declaration, which has that document's form.
    """
    try:
        plain = msgspec.json.decode(body)
        document = plain.get("sssa", plain)
        value, crypto = document["signature"]["value"], document["signature"]["crypto"]
        if verify(_canonical(document), value, hotkey, crypto):
            return ""
        right = (what for what, make in _MISTAKES if verify(make(document), value, hotkey, crypto))
        return next((f"It is right over {what}" for what in right), "")
    except _NO_DOCUMENT:
        return ""
