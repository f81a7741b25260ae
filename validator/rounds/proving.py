"""The proofs of a round's groups: made by the pure function, sealed by the validator (SPEC 14)."""

from collections.abc import Iterator, Sequence

from validator.kinds.registry import group_proof
from validator.proofs.document import Unsealed, signed
from validator.protocol.receipt import ProofNote, line_digest, wrapped
from validator.protocol.round import RoundInput, RoundOutcome, RoundPlan, RoundResults
from validator.protocol.signatures import Signer
from validator.scoring import FindingKeys
from validator.store.codec import compressed
from validator.store.signed import PackedProof


def sealed_proofs(  # noqa: PLR0913, PLR0917 - a settled round, and what scoring it filled
    signer: Signer,
    frozen: RoundInput,
    plan: RoundPlan,
    results: RoundResults,
    outcome: RoundOutcome,
    keys: FindingKeys | None = None,
) -> Iterator[PackedProof]:
    """Yield the proof of every task that has a group with answers, in plan order.

    Packed one by one: hostile answers make proofs of tens of megabytes, which shrink to little.
    """
    for group in plan.groups:
        proof = group_proof(frozen, plan, results, outcome, group.task_id, keys=keys)
        if proof is None:
            continue
        made = Unsealed.of(proof)
        data = made.under(signed(made, signer))
        note = ProofNote(group.task_id, made.checksum, line_digest(wrapped("proof", data)))
        yield PackedProof(note, compressed(data))


def notes_of(proofs: Sequence[PackedProof]) -> tuple[ProofNote, ...]:
    """Return what the receipt says of the proofs."""
    return tuple(proof.note for proof in proofs)
