"""Benchmark of signatures over documents: canonical bytes, and five of them verified (SPEC 2)."""

from collections.abc import Iterator

import msgspec
from bittensor_core import CRYPTO_SR25519, verify_signature
from harness import Case, microseconds, per_second
from samples.group import answers

from sssa.protocol.canonical import canonical_bytes
from sssa.protocol.signatures import verify_document
from sssa.protocol.sssa import signing_bytes


def cases() -> Iterator[Case]:
    """Yield what one attestation of 20 findings takes to write, and a group of five to verify."""
    documents = [answer.sssa for answer in answers()]
    hotkeys = [sssa.signature.hotkey for sssa in documents]
    at_hand = [
        (signing_bytes(sssa), bytes.fromhex(sssa.signature.value[2:]), hotkey, CRYPTO_SR25519)
        for sssa, hotkey in zip(documents, hotkeys, strict=True)
    ]
    in_c = msgspec.json.Encoder(order="sorted")
    writings = {
        "canonical bytes of an attestation": lambda: [canonical_bytes(sssa) for sssa in documents],
        "bytes that its signature is over": lambda: [signing_bytes(sssa) for sssa in documents],
    }
    for case, work in writings.items():
        yield Case(
            case,
            "µs each",
            microseconds(work, of=len(documents)),
            microseconds(lambda: [in_c.encode(sssa) for sssa in documents], of=len(documents)),
            "sorted encoding in C",
            "ratio ≤ 1.5",
        )
    yield Case(
        "5 attestations verified",
        "groups/s",
        per_second(lambda: [verify_document(sssa, hotkey) for sssa, hotkey in zip(documents, hotkeys, strict=True)]),
        per_second(lambda: [verify_signature(*each) for each in at_hand]),
        "sr25519 over bytes at hand",
    )
