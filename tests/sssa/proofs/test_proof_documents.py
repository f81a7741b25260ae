"""Sealed proofs: what is signed, and that no touch goes unnoticed."""

import hashlib
import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from group_rounds import VALIDATOR, group_proof, signer, worked_example
from hypothesis import given
from hypothesis import strategies as st

from sssa.proofs.consensus_proof import ConsensusProof
from sssa.proofs.document import (
    NotAProofError,
    TouchedError,
    Unsealed,
    document_bytes,
    is_sealed,
    proof_document,
    seal,
    verify_document,
)
from sssa.protocol.signatures import verify

GOLDEN = Path(__file__).parents[2] / "golden"


@cache
def example() -> ConsensusProof:
    proof = group_proof(*worked_example(), "t1")
    assert proof is not None
    return proof


@cache
def sealed() -> bytes:
    return document_bytes(seal(example(), VALIDATOR))


def touched(path: str, value: object) -> bytes:
    document = json.loads(sealed())
    *parents, last = path.split(".")
    at = document
    for key in parents:
        at = at[int(key)] if isinstance(at, list) else at[key]
    at[int(last) if isinstance(at, list) else last] = value
    return document_bytes(document)


def test_a_sealed_proof_reads_back_and_names_its_signer() -> None:
    found = verify_document(sealed(), VALIDATOR.hotkey)
    assert found.hotkey == VALIDATOR.hotkey
    assert found.proof.to_json() == example().to_json()
    assert verify_document(sealed()[:-1]) == found


def test_a_proof_made_again_is_known_by_its_bytes_and_its_seal() -> None:
    made, data, hotkey = Unsealed.of(example()), sealed(), VALIDATOR.hotkey
    assert is_sealed(data, made, hotkey)
    assert is_sealed(data[:-1], made, hotkey)
    assert not is_sealed(data, made, signer("Other").hotkey)
    assert not is_sealed(data, Unsealed.of(replace(example(), task="another")), hotkey)
    assert not is_sealed(document_bytes(seal(example(), signer("Other"))), made, hotkey)
    assert not is_sealed(document_bytes(made.document), made, hotkey)  # without a signature
    signature = json.loads(data)["signature"]
    loud = made.document | {"signature": signature | {"value": "0x" + signature["value"][2:].upper()}}
    assert not is_sealed(document_bytes(loud), made, hotkey)
    assert not is_sealed(data + b"\n", made, hotkey)


@given(st.integers(0, len(sealed()) - 1), st.integers(1, 255))
def test_no_proof_made_again_is_known_by_other_bytes(place: int, change: int) -> None:
    data = bytearray(sealed())
    data[place] ^= change
    assert not is_sealed(bytes(data), Unsealed.of(example()), VALIDATOR.hotkey)


def test_digest_and_signature_by_hand() -> None:
    document = json.loads(sealed())
    content = {key: value for key, value in document.items() if key not in {"digest", "signature"}}
    digest = hashlib.sha256(rfc8785.dumps(content)).hexdigest()
    assert document["digest"] == digest
    signature = document["signature"]
    signed: Any = {"digest": digest, "signature": {"hotkey": signature["hotkey"], "crypto": signature["crypto"]}}
    assert verify(rfc8785.dumps(signed), signature["value"], VALIDATOR.hotkey, "ed25519")
    parts = {name: example().to_dict()[name] for name in ("final_claim", "votes", "claims")}
    assert document["checksum"] == hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


@given(st.data())
def test_every_changed_byte_is_refused(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(sealed()) - 1))
    flip = data.draw(st.integers(1, 255))
    bent = bytearray(sealed())
    bent[at] ^= flip
    with pytest.raises(TouchedError):
        verify_document(bytes(bent))


@pytest.mark.parametrize(
    ("path", "value", "place"),
    [
        ("final_claim", "ALLOW", "checksum"),
        ("votes.0.confidence", 0.5, "checksum"),
        ("votes.0.confidence", 1.5, "votes[0]"),
        ("votes.0.vote", "maybe", "votes[0].vote"),
        ("votes.0.extra", 1, "votes[0].extra"),
        ("claims.1.supporting_evidence.2.content", "x", "claims[1].supporting_evidence[2].content"),
        ("evidence_chain.3.content", "x", "claims[0]"),
        ("metadata.round_id", "6", "digest"),
        ("extra", 1, "extra"),
        ("task", None, "task"),
        ("proof_version", "2.0", "proof_version"),
        ("signature.hotkey", signer("P1").hotkey, "signature.value"),
        ("signature", {}, "signature"),
    ],
)
def test_the_place_of_a_touch_is_named(path: str, value: object, place: str) -> None:
    with pytest.raises(TouchedError) as error:
        verify_document(touched(path, value))
    assert error.value.place.startswith(place)


def test_another_signer_is_refused_where_one_is_named() -> None:
    other = document_bytes(seal(example(), signer("P1")))
    assert verify_document(other).hotkey == signer("P1").hotkey
    with pytest.raises(TouchedError, match=r"signature\.hotkey"):
        verify_document(other, VALIDATOR.hotkey)


def test_an_unsigned_document_holds_only_while_nobody_asks_who_signed_it() -> None:
    data = document_bytes(proof_document(example()))
    assert verify_document(data).hotkey is None
    with pytest.raises(TouchedError, match="signature: is missing"):
        verify_document(data, VALIDATOR.hotkey)


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b"not json", b'{"a": 1}', b"\xff"])
def test_other_files_are_no_proofs(data: bytes) -> None:
    with pytest.raises(NotAProofError):
        verify_document(data)


def test_the_golden_proof_of_the_worked_example() -> None:
    assert (GOLDEN / "group-proof.json").read_bytes() == sealed()
    assert (GOLDEN / "group-proof.md").read_text(encoding="utf-8") == example().to_markdown()
