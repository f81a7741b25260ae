"""DSSE envelopes (Dead Simple Signing Envelope, v1) with ed25519 signatures: the outer form of a published attestation.

Key ids are those of securesystemslib: the sha256 of the key's metadata in canonical JSON. Pure.
"""

import base64
import binascii
from typing import Annotated, Final, NamedTuple

from bittensor_core import CRYPTO_ED25519, Keypair
from msgspec import Meta

from sssa.protocol.canonical import canonical_bytes, sha256_hex
from sssa.protocol.errors import ValidatorError
from sssa.protocol.limits import MIB
from sssa.protocol.signatures import verify
from sssa.protocol.sssa import Document

PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"
MAX_PAYLOAD: Final = 512 * 1024
MAX_ENVELOPE: Final = MIB
_DER_PREFIX: Final = bytes.fromhex("302a300506032b6570032100")  # SubjectPublicKeyInfo of an ed25519 key (RFC 8410)


class EnvelopeError(ValidatorError):
    """The envelope cannot be used."""


class EnvelopeSignature(Document, frozen=True):
    """One signature over an envelope's payload; `sig` is base64."""

    keyid: Annotated[str, Meta(max_length=128)]
    sig: Annotated[str, Meta(max_length=256)]


class Envelope(Document, frozen=True):
    """An envelope as it travels; `payload` is base64."""

    payload: Annotated[str, Meta(max_length=MAX_ENVELOPE)]
    payloadType: Annotated[str, Meta(max_length=128)]  # noqa: N815 - DSSE's name
    signatures: Annotated[tuple[EnvelopeSignature, ...], Meta(min_length=1, max_length=4)]


class PublishingKey(NamedTuple):
    """An ed25519 key that signs envelopes."""

    keypair: Keypair

    @classmethod
    def of_seed(cls, seed: bytes) -> "PublishingKey":
        """Return the key of a secret seed of 32 bytes (ValueError: another length)."""
        return cls(Keypair.create_from_seed(seed, crypto_type=CRYPTO_ED25519))

    @property
    def public(self) -> str:
        """Lower-case hex of the 32 public bytes."""
        return bytes(self.keypair.public_key).hex()

    def sign(self, payload: bytes) -> Envelope:
        """Return the envelope of an in-toto statement, signed; the same bytes give the same envelope."""
        signature = bytes(self.keypair.sign(pre_authentication(PAYLOAD_TYPE, payload)))
        signed = EnvelopeSignature(key_id(self.public), base64.b64encode(signature).decode())
        return Envelope(base64.b64encode(payload).decode(), PAYLOAD_TYPE, (signed,))


def key_id(public: str) -> str:
    """Return the id of a public key, given in hex."""
    return sha256_hex(canonical_bytes({"keytype": "ed25519", "keyval": {"public": public}, "scheme": "ed25519"}))


def key_pem(public: str) -> str:
    """Return a public key, given in hex, as PEM."""
    body = base64.b64encode(_DER_PREFIX + bytes.fromhex(public)).decode()
    return f"-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n"


def pre_authentication(payload_type: str, payload: bytes) -> bytes:
    """Return the bytes that are signed: DSSE's PAE of a payload and its type."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def opened(envelope: Envelope, public: str) -> bytes:
    """Return the payload of an in-toto envelope that the key with these public bytes (hex) signed.

    Raises:
        EnvelopeError: another type of payload, no base64, too large, or no signature of the key; key ids are hints.
    """
    if envelope.payloadType != PAYLOAD_TYPE:
        raise EnvelopeError(f"its payload is no {PAYLOAD_TYPE}")
    payload = _decoded(envelope.payload, "payload")
    if len(payload) > MAX_PAYLOAD:
        raise EnvelopeError(f"its payload has {len(payload)} bytes, at most {MAX_PAYLOAD}")
    address = Keypair(public_key=bytes.fromhex(public), crypto_type=CRYPTO_ED25519).ss58_address
    signed = pre_authentication(PAYLOAD_TYPE, payload)
    values = (_decoded(one.sig, "signature").hex() for one in envelope.signatures)
    if not any(verify(signed, value, address, "ed25519") for value in values):
        raise EnvelopeError("it has no signature of the key that vouches for it")
    return payload


def _decoded(text: str, what: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise EnvelopeError(f"its {what} is not base64") from None
