"""Hotkey signatures over documents: one typed wrapper round the SDK's Keypair (SPEC 2, 13)."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar, cast

import msgspec
from bittensor_core import CRYPTO_ED25519, CRYPTO_SR25519, Keypair

from validator.protocol.sssa import Signature, signing_bytes

_CRYPTO_TYPES = {"sr25519": CRYPTO_SR25519, "ed25519": CRYPTO_ED25519}
_KNOWN: ContextVar[dict[tuple[bytes, str, str, str], bool] | None] = ContextVar("_KNOWN", default=None)
_CRYPTO_NAMES = {code: name for name, code in _CRYPTO_TYPES.items()}


class Signed(Protocol):
    """A document that carries a signature."""

    @property
    def signature(self) -> Signature:
        """The signature object."""


D = TypeVar("D", bound=Signed)


class Signer:
    """A hotkey that can sign: its address and its scheme.

    Args:
        keypair: a bittensor keypair with its private part.
    """

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
    """Whether `document` was signed by `hotkey` under the scheme it names; never raises."""
    signature = document.signature
    return signature.hotkey == hotkey and verify(
        signing_bytes(cast("Any", document)), signature.value, hotkey, signature.crypto
    )


def verify(data: bytes, value: str, hotkey: str, crypto: str) -> bool:
    """Whether `value` (`0x` hex) is the signature of exactly `data` by `hotkey`; never raises.

    The SDK also takes signatures over `<Bytes>data</Bytes>`, as browser wallets make them; other data is other data.
    """
    known = _KNOWN.get()
    if known is None:
        return _verify(data, value, hotkey, crypto)
    key = hashlib.sha256(data).digest(), value, hotkey, crypto
    if key not in known:
        known[key] = _verify(data, value, hotkey, crypto)
    return known[key]


@contextmanager
def verified_once() -> Iterator[None]:
    """Inside, a signature that is verified again costs a hash: of one round, which has a bounded number of them."""
    token = _KNOWN.set({})
    try:
        yield
    finally:
        _KNOWN.reset(token)


def _verify(data: bytes, value: str, hotkey: str, crypto: str) -> bool:
    try:
        keypair = Keypair(ss58_address=hotkey, crypto_type=_CRYPTO_TYPES[crypto])
        signature = bytes.fromhex(value.removeprefix("0x"))
        wrapped = b"<Bytes>" + data + b"</Bytes>"
        return bool(keypair.verify(data, signature)) and not keypair.verify(wrapped, signature)
    except (ValueError, TypeError, KeyError, OverflowError):
        return False


def is_hotkey(text: str) -> bool:
    """Whether `text` is a well-formed ss58 address."""
    try:
        Keypair(ss58_address=text)
    except (ValueError, TypeError, OverflowError):
        return False
    return True
