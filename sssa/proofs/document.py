"""Consensus proof as a document that anyone can check: digest, signature, verification (SPEC 14).

The document is `to_dict` with `digest` and `signature`. Its file is its RFC 8785 bytes and a line
break, so that no byte of it can change unnoticed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Self

import msgspec

from sssa.proofs.consensus_proof import DERIVED, PROOF_VERSION, ConsensusProof
from sssa.proofs.proof_rules import Doubt, divided_evidence, doubts
from sssa.proofs.records import ProofError
from sssa.protocol import typed
from sssa.protocol.canonical import NotCanonicalError, canonical_bytes, sha256_hex
from sssa.protocol.canonical import digest as digest_of
from sssa.protocol.differences import first_difference
from sssa.protocol.limits import MAX_JSON_VALUES, MIB
from sssa.protocol.signatures import Signer
from sssa.protocol.signatures import verify_document as is_signed_by
from sssa.protocol.sssa import Document, Signature
from sssa.protocol.strict_json import JsonError, decode_plain, has_more_values
from sssa.protocol.text import printable

_TOGETHER: Final = 512  # entries of a list that are written at a time


@dataclass(frozen=True, slots=True)
class Unsealed:
    """A proof without its signature: its `to_dict`, the RFC 8785 bytes of every field, and their sha256 in hex."""

    content: Mapping[str, Any]
    written: Mapping[str, bytes]
    digest: str

    @classmethod
    def of(cls, proof: ConsensusProof) -> Self:
        """Return the unsealed form of a proof (NotCanonicalError: the proof holds what JSON cannot carry)."""
        content = proof.to_dict()
        written = {name: canonical_bytes(value) for name, value in content.items() if not isinstance(value, list)}
        written |= {name: _listed(value) for name, value in content.items() if isinstance(value, list)}
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


def _listed(value: list[Any]) -> bytes:
    """Return the RFC 8785 bytes of a list, some entries at a time: what writing takes stays small."""
    parts = (canonical_bytes(value[first : first + _TOGETHER])[1:-1] for first in range(0, len(value), _TOGETHER))
    return b"[%b]" % b",".join(parts)


def _object(fields: Mapping[str, bytes]) -> bytes:
    """Return an object of these fields, whose names are plain ASCII words."""
    return b"{%b}" % b",".join(b'"%b":%b' % (name.encode(), fields[name]) for name in sorted(fields))


MAX_DOCUMENT: Final = 64 * MIB
_SEALED: Final = ("digest", "signature")
_MARKS: Final = (b'"proof_id"', b'"debate_id"', b'"evidence_chain"')
_BLANK: Final = Signature("", "sr25519", "0x" + "0" * 128)


class Seal(Document, frozen=True):
    """The part that the validator signs: the digest, under the signature rules of section 13."""

    digest: str
    signature: Signature


class _SignatureField(msgspec.Struct):
    """Parts of a file that are read before the recomputed proof shows whether the rest is intact."""

    signature: Signature


class Verified(NamedTuple):
    """A document that holds. `hotkey` is who signed it, None for a document without a signature."""

    proof: ConsensusProof
    digest: str
    hotkey: str | None

    @property
    def warnings(self) -> tuple[Doubt, ...]:
        """Claims of another producer's proof that cannot be recomputed from it or do not conform to the form."""
        return tuple(doubts(self.proof))


class NotAProofError(ProofError):
    """Not a consensus proof."""


class TouchedError(ProofError):
    """The proof does not hold.

    `place` is the path of what is wrong, `$` for the whole, `fault` what is wrong there; both are printable.
    """

    def __init__(self, place: str, fault: str) -> None:
        self.place = printable(place, 300)
        self.fault = printable(fault, 400)
        super().__init__(f"{self.place}: {self.fault}")


def proof_document(proof: ConsensusProof) -> dict[str, Any]:
    """Return the unsigned document: the proof with its digest, and `signature` null (NotCanonicalError)."""
    return Unsealed.of(proof).document


def seal(proof: ConsensusProof, signer: Signer) -> dict[str, Any]:
    """Return the document with the signer's signature over its digest (NotCanonicalError)."""
    made = Unsealed.of(proof)
    return made.document | {"signature": msgspec.to_builtins(signed(made, signer))}


def signed(made: Unsealed, signer: Signer) -> Signature:
    """Return the signer's signature over a proof's digest."""
    return signer.sign_document(Seal(made.digest, _BLANK)).signature


def document_bytes(document: dict[str, Any]) -> bytes:
    """Return the document's file: RFC 8785 bytes and a line break."""
    return canonical_bytes(document) + b"\n"


def require_readable(data: bytes) -> None:
    """Refuse a proof that is larger than what a verifier reads (ProofError: naming the bound)."""
    if len(data) > MAX_DOCUMENT:
        raise ProofError(f"it would have {len(data)} bytes, at most {MAX_DOCUMENT} can be checked")
    if has_more_values(data, MAX_JSON_VALUES):
        raise ProofError(f"it would hold more than {MAX_JSON_VALUES} values, which is the most that can be checked")


def verify_document(data: bytes, hotkey: str | None = None, *, held: bool = True) -> Verified:
    """Return the verified proof in `data`, with all sums and all that follows from votes and evidence recomputed.

    Without a `hotkey` the document's own word is taken, and documents without a signature; the last line break may be
    missing. Who makes the proof again need not have it `held` to its votes.

    Raises:
        NotAProofError: the file is something else.
        TouchedError: the proof does not hold; the text begins with the place.
    """
    document = _parsed(data)
    proof = _proof(document)
    rebuilt = proof.to_dict()
    _compare(document, rebuilt, proof)
    if held:
        _hold(document, rebuilt, proof)
    digest = digest_of({name: document.get(name) for name in rebuilt})
    if document["digest"] != digest:
        raise TouchedError(
            *divided_evidence(proof) or ("digest", "is not that of the rest; the checksum's parts are whole")
        )
    signed_by = require_signer(document, hotkey)
    _exact_form(document, data)
    return Verified(proof, digest, signed_by)


def is_sealed(data: bytes, made: Unsealed, hotkey: str) -> bool:
    """Return whether the file is byte for byte this proof under the hotkey's seal, as `verify_document` accepts it."""
    try:
        require_readable(data)
        signature = typed.decode(data, _SignatureField).signature
        exact = made.under(signature)
        sealed = {"digest": made.digest, "signature": msgspec.to_builtins(signature)}
        return data in (exact, exact + b"\n") and require_signer(sealed, hotkey) == hotkey
    except (ProofError, NotCanonicalError, msgspec.MsgspecError, UnicodeDecodeError):
        return False


def require_signer(document: dict[str, Any], hotkey: str | None) -> str | None:
    """Return the signer of the document's digest; None for an unsigned document where no `hotkey` is required.

    Raises:
        TouchedError: unsigned, or signed by another key.
    """
    if document["signature"] is None:
        if hotkey is not None:
            raise TouchedError("signature", "is missing")
        return None
    try:
        signature = typed.convert(document["signature"], Signature)
    except msgspec.ValidationError as error:
        raise TouchedError("signature", str(error)) from None
    if hotkey not in (None, signature.hotkey):
        raise TouchedError("signature.hotkey", f"is {signature.hotkey}, not {hotkey}")
    if signature.value != signature.value.lower():
        raise TouchedError("signature.value", "must be lower-case hex")
    if not is_signed_by(Seal(document["digest"], signature), signature.hotkey):
        raise TouchedError("signature.value", "is not the hotkey's signature over the digest")
    return signature.hotkey


def _parsed(data: bytes) -> dict[str, Any]:
    known = any(mark in data for mark in _MARKS)
    try:
        document = decode_plain(data, limit=MAX_DOCUMENT)
    except JsonError as error:
        if known:
            raise TouchedError("$", str(error)) from None
        raise NotAProofError(str(error)) from None
    if not known or not isinstance(document, dict):
        raise NotAProofError("it has none of the fields of one")
    if document.get("proof_version") != PROOF_VERSION:
        raise TouchedError("proof_version", f"must be {PROOF_VERSION}")
    for name in _SEALED:
        if name not in document:
            raise TouchedError(name, "is missing")
    return document


def _proof(document: dict[str, Any]) -> ConsensusProof:
    try:
        return typed.convert(document, ConsensusProof)
    except (msgspec.ValidationError, ValueError) as error:
        fault, _, place = str(error).partition(" - at `$.")
        raise TouchedError(place.rstrip("`") or "$", fault) from None


def _compare(document: dict[str, Any], rebuilt: dict[str, Any], proof: ConsensusProof) -> None:
    """Raise TouchedError at the first place where the document is not in its form, or for a wrong checksum."""
    computed = {*_SEALED, *(name for name in DERIVED if name in rebuilt)}
    stated, derived = ({k: v for k, v in each.items() if k not in computed} for each in (document, rebuilt))
    difference = first_difference(stated, derived)
    if difference is not None:
        raise TouchedError(difference.path, "does not belong there, or is missing")
    if document.get("checksum") != rebuilt["checksum"]:
        raise TouchedError(
            *divided_evidence(proof) or ("checksum", "is not that of final_claim, votes and claims"),
        )


def _hold(document: dict[str, Any], rebuilt: dict[str, Any], proof: ConsensusProof) -> None:
    """Raise TouchedError at the first field that does not follow from votes and evidence."""
    wrong = next((doubt for doubt in doubts(proof) if doubt.level == "wrong"), None)
    if wrong is not None:
        raise TouchedError(wrong.place, wrong.what)
    stated, derived = ({name: each[name] for name in DERIVED if name in each} for each in (document, rebuilt))
    difference = first_difference(stated, derived)
    if difference is not None:
        raise TouchedError(difference.path, difference.sentence)


def _exact_form(document: dict[str, Any], data: bytes) -> None:
    try:
        exact = document_bytes(document)
    except NotCanonicalError as error:
        raise TouchedError("$", str(error)) from None
    if data not in (exact, exact[:-1]):
        at = next((i for i, (a, b) in enumerate(zip(data, exact, strict=False)) if a != b), len(exact))
        raise TouchedError("$", f"byte {at} is not as RFC 8785 writes this document")
