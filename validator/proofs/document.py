"""A consensus proof as a document that anyone can check: digest, signature, verification (SPEC 14).

The document is `to_dict` with `proof_version`, `digest` and `signature`. Its file is its RFC 8785 bytes and a line
break, so that no byte of it can change unnoticed.
"""

from typing import Any, Final, NamedTuple

import msgspec

from validator.proofs.checks import ProofError
from validator.proofs.proof import ConsensusProof
from validator.protocol.canonical import NotCanonicalError, canonical_bytes, sha256_hex
from validator.protocol.json_shape import has_more_values
from validator.protocol.limits import MAX_JSON_VALUES, MIB
from validator.protocol.signatures import Signer
from validator.protocol.signatures import verify_document as is_signed_by
from validator.protocol.sssa import Document, Signature
from validator.protocol.strict_json import JsonError, decode_plain
from validator.protocol.text import printable

PROOF_VERSION: Final = "1.0"
MAX_DOCUMENT: Final = 64 * MIB
_SEALED: Final = ("digest", "signature")
_MARKS: Final = (b'"proof_id"', b'"debate_id"', b'"evidence_chain"')
_BLANK: Final = Signature("", "sr25519", "0x" + "0" * 128)


class Seal(Document, frozen=True):
    """What the validator signs: the digest, with the rules of section 13 for signatures."""

    digest: str
    signature: Signature


class Verified(NamedTuple):
    """A document that holds. `hotkey` is who signed it, None for a document without a signature."""

    proof: ConsensusProof
    digest: str
    hotkey: str | None


class NotAProofError(ProofError):
    """Not a consensus proof."""


class TouchedError(ProofError):
    """The proof does not hold.

    Attributes:
        place: path of what is wrong, `$` for the whole.
    """

    def __init__(self, place: str, fault: str) -> None:
        super().__init__(f"{printable(place, 300)}: {printable(fault, 400)}")
        self.place = place


def proof_document(proof: ConsensusProof) -> dict[str, Any]:
    """Return the unsigned document: the proof with `proof_version`, its digest, and `signature` null.

    Raises:
        NotCanonicalError: the proof holds what JSON cannot carry.
    """
    content = {"proof_version": PROOF_VERSION} | proof.to_dict()
    return content | {"digest": _digest(content), "signature": None}


def seal(proof: ConsensusProof, signer: Signer) -> dict[str, Any]:
    """Return the document with the signer's signature over its digest.

    Raises:
        NotCanonicalError: the proof holds what JSON cannot carry.
    """
    document = proof_document(proof)
    sealed = signer.sign_document(Seal(document["digest"], _BLANK))
    return document | {"signature": msgspec.to_builtins(sealed.signature)}


def document_bytes(document: dict[str, Any]) -> bytes:
    """Return the document's file: RFC 8785 bytes and a line break."""
    return canonical_bytes(_exact(document)) + b"\n"


def require_readable(data: bytes) -> None:
    """Refuse a proof that nobody could check, because it is larger than what is read.

    Raises:
        ProofError: naming the bound.
    """
    if len(data) > MAX_DOCUMENT:
        raise ProofError(f"it would have {len(data)} bytes, at most {MAX_DOCUMENT} can be checked")
    if has_more_values(data, MAX_JSON_VALUES):
        raise ProofError(f"it would hold more than {MAX_JSON_VALUES} values, which is the most that can be checked")


def verify_document(data: bytes, hotkey: str | None = None) -> Verified:
    """Return what the file in `data` proves, everything computed anew.

    Args:
        data: the file; the last line break may be missing.
        hotkey: who must have signed it; None takes the document's own word, and documents without a signature.

    Raises:
        NotAProofError: the file is something else.
        TouchedError: the proof does not hold; the text begins with the place.
    """
    document = _parsed(data)
    proof = _proof(document)
    rebuilt = {"proof_version": PROOF_VERSION} | proof.to_dict()
    _compare(document, rebuilt)
    digest = _digest(rebuilt)
    if document["digest"] != digest:
        raise TouchedError(*_divided(rebuilt) or ("digest", "is not that of the rest; the checksum's parts are whole"))
    signed_by = require_signer(document, hotkey)
    _exact_form(document, data)
    return Verified(proof, digest, signed_by)


def require_signer(document: dict[str, Any], hotkey: str | None) -> str | None:
    """Return who signed the document's digest, None for a document without a signature.

    Args:
        document: with `digest` and `signature`.
        hotkey: who must have signed it; None takes the document's own word.

    Raises:
        TouchedError: nobody did, or somebody else.
    """
    if document["signature"] is None:
        if hotkey is not None:
            raise TouchedError("signature", "is missing")
        return None
    try:
        signature = msgspec.convert(document["signature"], Signature)
    except msgspec.ValidationError as error:
        raise TouchedError("signature", str(error)) from None
    if hotkey not in (None, signature.hotkey):
        raise TouchedError("signature.hotkey", f"is {signature.hotkey}, not {hotkey}")
    if signature.value != signature.value.lower():
        raise TouchedError("signature.value", "must be lower-case hex")
    if not is_signed_by(Seal(document["digest"], signature), signature.hotkey):
        raise TouchedError("signature.value", "is not the hotkey's signature over the digest")
    return signature.hotkey


def _digest(content: dict[str, Any]) -> str:
    return sha256_hex(canonical_bytes(_exact(content)))


def _exact(value: Any) -> Any:
    """Write numbers without a fraction as integers, as RFC 8785 does; what is left is quicker to encode."""
    if isinstance(value, dict):
        return {key: _exact(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_exact(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


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
        return msgspec.convert(document, ConsensusProof)
    except (msgspec.ValidationError, ValueError) as error:
        fault, _, place = str(error).partition(" - at `$.")
        raise TouchedError(place.rstrip("`") or "$", fault) from None


def _compare(document: dict[str, Any], rebuilt: dict[str, Any]) -> None:
    """Raise TouchedError at the first place where the document is not what its own parts give."""
    computed = {*_SEALED, "checksum"}
    said, given = ({k: v for k, v in each.items() if k not in computed} for each in (document, rebuilt))
    place = _first_difference(said, given)
    if place:
        raise TouchedError(place, "does not belong there, or is missing")
    if document.get("checksum") != rebuilt["checksum"]:
        raise TouchedError(*_divided(rebuilt) or ("checksum", "is not that of final_claim, votes and claims"))


def _divided(rebuilt: dict[str, Any]) -> tuple[str, str] | None:
    """Return the first evidence that its claim and the chain tell differently: it says where a touch was."""
    chain = {item["evidence_id"]: item for item in rebuilt["evidence_chain"]}
    for i, claim in enumerate(rebuilt["claims"]):
        for side in ("supporting_evidence", "refuting_evidence"):
            for j, item in enumerate(claim[side]):
                other = chain.get(item["evidence_id"])
                place = "evidence_id" if other is None else _first_difference(item, other)
                if place:
                    return f"claims[{i}].{side}[{j}].{place}", "is not what the evidence chain says"
    return None


def _exact_form(document: dict[str, Any], data: bytes) -> None:
    try:
        exact = document_bytes(document)
    except NotCanonicalError as error:
        raise TouchedError("$", str(error)) from None
    if data not in (exact, exact[:-1]):
        at = next((i for i, (a, b) in enumerate(zip(data, exact, strict=False)) if a != b), len(exact))
        raise TouchedError("$", f"byte {at} is not as RFC 8785 writes this document")


def _first_difference(one: Any, other: Any, path: str = "") -> str | None:
    """Return the path of the first place where two JSON values differ, None where they do not."""
    if isinstance(one, dict) and isinstance(other, dict):
        keys = [*one, *(key for key in other if key not in one)]
        pairs = [(f"{path}.{key}" if path else key, one.get(key, ...), other.get(key, ...)) for key in keys]
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = [(f"{path}[{i}]", a, b) for i, (a, b) in enumerate(zip(one, other, strict=True))]
    else:
        return None if one == other else path
    return next((_first_difference(a, b, place) for place, a, b in pairs if a != b), None)
