"""Hotkey signatures over documents: one typed wrapper round the SDK's Keypair (SPEC 2, 13)."""

from typing import Any, Protocol, TypeVar, cast

import msgspec
import sr25519
from bittensor_core import CRYPTO_ED25519, CRYPTO_SR25519, Keypair

from sssa.protocol.sssa import Signature, signing_bytes

_CRYPTO_TYPES = {"sr25519": CRYPTO_SR25519, "ed25519": CRYPTO_ED25519}
_CRYPTO_NAMES = {code: name for name, code in _CRYPTO_TYPES.items()}


class Signed(Protocol):
    """A document that carries a signature."""

    @property
    def signature(self) -> Signature:
        """The signature object."""


D = TypeVar("D", bound=Signed)


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
    return verify(signing_bytes(document), signature.value, hotkey, signature.crypto)


def verify(data: bytes, value: str, hotkey: str, crypto: str) -> bool:
    """Return whether `value` (`0x` hex) is the signature of exactly `data` by `hotkey`; never raises."""
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
