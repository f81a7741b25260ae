"""A proof whose maker changes it with its own key: checksum, digest and signature are made anew, as it could."""

import copy
import json
from collections.abc import Callable
from typing import Any

import msgspec
import rfc8785

from sssa.proofs.consensus_proof import ConsensusProof
from sssa.proofs.document import Seal, document_bytes, proof_document
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.signatures import Signer
from sssa.protocol.sssa import Signature

FORGER = Signer.from_uri("//Forger", "ed25519")
Change = Callable[[dict[str, Any]], object]


def resealed(proof: ConsensusProof, change: Change) -> bytes:
    """The file of `proof` with one change, which everything over it agrees to."""
    document = json.loads(json.dumps(proof_document(proof)))
    change(document)
    plain = {name: value for name, value in copy.deepcopy(document).items() if name not in {"digest", "signature"}}
    plain["checksum"] = msgspec.convert(plain, ConsensusProof).checksum
    digest = sha256_hex(rfc8785.dumps(plain))
    blank = Signature("", "ed25519", "0x" + "0" * 128)
    signature = FORGER.sign_document(Seal(digest, blank)).signature
    return document_bytes(plain | {"digest": digest, "signature": msgspec.to_builtins(signature)})
