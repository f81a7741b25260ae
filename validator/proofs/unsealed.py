"""A proof that has been made, on its way to its seal: its document, and the bytes of its fields, written once."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from validator.proofs.proof import ConsensusProof
from validator.protocol.canonical import canonical_bytes, sha256_hex
from validator.protocol.sssa import Signature


@dataclass(frozen=True, slots=True)
class Unsealed:
    """A proof without its signature.

    Attributes:
        content: `to_dict` of the proof.
        written: the RFC 8785 bytes of every field of it.
        digest: hex sha256 over all of them, what the validator signs.
    """

    content: Mapping[str, Any]
    written: Mapping[str, bytes]
    digest: str

    @classmethod
    def of(cls, proof: ConsensusProof) -> Self:
        """Return what is sealed of a proof.

        Raises:
            NotCanonicalError: the proof holds what JSON cannot carry.
        """
        content = proof.to_dict()
        written = {name: canonical_bytes(value) for name, value in content.items()}
        return cls(content, written, sha256_hex(_object(written)))

    @property
    def checksum(self) -> str:
        """The proof's."""
        return str(self.content["checksum"])

    @property
    def document(self) -> dict[str, Any]:
        """The content with its digest, and `signature` null."""
        return {**self.content, "digest": self.digest, "signature": None}

    def under(self, signature: Signature) -> bytes:
        """Return the RFC 8785 bytes of the document with a signature, without the file's line break."""
        return _object(
            {**self.written, "digest": canonical_bytes(self.digest), "signature": canonical_bytes(signature)}
        )


def _object(fields: Mapping[str, bytes]) -> bytes:
    """Return an object of these fields, whose names are plain ASCII words."""
    return b"{%b}" % b",".join(b'"%b":%b' % (name.encode(), fields[name]) for name in sorted(fields))
