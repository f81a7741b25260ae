"""Hotkey signatures over documents: one typed wrapper round the SDK's Keypair (SPEC 2, 13)."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, Protocol, TypeVar, cast

import msgspec
import sr25519
from bittensor_core import CRYPTO_ED25519, CRYPTO_SR25519, Keypair

from validator.protocol.canonical import sha256_hex
from validator.protocol.sssa import Signature, signing_bytes

_CRYPTO_TYPES = {"sr25519": CRYPTO_SR25519, "ed25519": CRYPTO_ED25519}
_CRYPTO_NAMES = {code: name for name, code in _CRYPTO_TYPES.items()}


class Signed(Protocol):
    """A document that carries a signature."""

    @property
    def signature(self) -> Signature:
        """The signature object."""


D = TypeVar("D", bound=Signed)


class _Known(NamedTuple):
    """Signatures cached within `verified_once`.

    Attributes:
        verified: of (hex sha256 of the data, value, hotkey, scheme) whether it is a signature.
        signed: of a document, by its id, itself and the hex sha256 of what its signature is over.
    """

    verified: dict[tuple[str, str, str, str], bool]
    signed: dict[int, tuple[Signed, str]]

    def verify(self, sha256: str, data: bytes, value: str, hotkey: str, crypto: str) -> bool:
        key = sha256, value, hotkey, crypto
        if key not in self.verified:
            self.verified[key] = _verify(data, value, hotkey, crypto)
        return self.verified[key]


_KNOWN: ContextVar[_Known | None] = ContextVar("_KNOWN", default=None)


class Signer:
    """A hotkey that can sign: its address and its scheme."""

    def __init__(self, keypair: Any) -> None:
        self.keypair = keypair
        self.hotkey: str = keypair.ss58_address
        self.crypto: str = _CRYPTO_NAMES[keypair.crypto_type]

    @classmethod
    def from_uri(cls, uri: str, crypto: str = "sr25519") -> "Signer":
        """Return the signer of a derivation uri such as `//Alice` (tests and the local network)."""
        return cls(Keypair.create_from_uri(uri, crypto_type=_CRYPTO_TYPES[crypto]))

    def sign(self, data: bytes) -> str:
        """Return `0x` and the hex of the 64-byte signature over `data`."""
        return "0x" + bytes(self.keypair.sign(data)).hex()

    def sign_document(self, document: D) -> D:
        """Return `document` with this hotkey's signature in place."""
        blank = Signature(self.hotkey, cast("Any", self.crypto), "0x" + "0" * 128)
        unsigned = msgspec.structs.replace(cast("Any", document), signature=blank)
        signature = msgspec.structs.replace(blank, value=self.sign(signing_bytes(unsigned)))
        return cast("D", msgspec.structs.replace(unsigned, signature=signature))


def verify_document(document: Signed, hotkey: str) -> bool:
    """Return whether `hotkey` signed `document` under the scheme it names; never raises."""
    signature = document.signature
    if signature.hotkey != hotkey:
        return False
    data, known = signing_bytes(document), _KNOWN.get()
    if known is None:
        return _verify(data, signature.value, hotkey, signature.crypto)
    sha256 = sha256_hex(data)
    known.signed[id(document)] = document, sha256  # kept, so that its id stays its own
    return known.verify(sha256, data, signature.value, hotkey, signature.crypto)


def signed_sha256(document: Signed) -> str:
    """Return the hex sha256 of the bytes that a document's signature is over."""
    known = _KNOWN.get()
    if known is not None and id(document) in known.signed:
        return known.signed[id(document)][1]
    return sha256_hex(signing_bytes(document))


def verify(data: bytes, value: str, hotkey: str, crypto: str) -> bool:
    """Return whether `value` (`0x` hex) is the signature of exactly `data` by `hotkey`; never raises."""
    known = _KNOWN.get()
    if known is None:
        return _verify(data, value, hotkey, crypto)
    return known.verify(sha256_hex(data), data, value, hotkey, crypto)


@contextmanager
def verified_once() -> Iterator[None]:
    """Cache verified signatures inside: the next check of one costs a hash. For replay of one group, which has few."""
    token = _KNOWN.set(_Known({}, {}))
    try:
        yield
    finally:
        _KNOWN.reset(token)


def _verify(data: bytes, value: str, hotkey: str, crypto: str) -> bool:
    try:
        keypair = Keypair(ss58_address=hotkey, crypto_type=_CRYPTO_TYPES[crypto])
        signature = bytes.fromhex(value.removeprefix("0x"))
        if crypto == "sr25519":
            return bool(sr25519.verify(signature, data, bytes(keypair.public_key)))
        # The SDK also takes signatures over <Bytes>data</Bytes>, as browser wallets make them: other data to us.
        wrapped = b"<Bytes>" + data + b"</Bytes>"
        return bool(keypair.verify(data, signature)) and not keypair.verify(wrapped, signature)
    except (ValueError, TypeError, KeyError, OverflowError):
        return False


def is_hotkey(text: str) -> bool:
    """Return whether `text` is a well-formed ss58 address."""
    try:
        Keypair(ss58_address=text)
    except (ValueError, TypeError, OverflowError):
        return False
    return True


def sign_in_text(host: str, hotkey: str, nonce: str) -> bytes:
    """Return the bytes that a miner signs: they name the host, so that no other validator can use the signature."""
    return f"sssa-validator sign-in\n{host}\n{hotkey}\n{nonce}".encode(errors="surrogateescape")
