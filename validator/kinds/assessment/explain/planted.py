"""Which of the faults that a bundle is known to have a miner found: told, never scored (SPEC 16, D-33)."""

from validator.protocol.findings import found_in
from validator.protocol.sssa import Category, Document, Finding, Severity
from validator.protocol.task import Truth


class KnownFault(Document, frozen=True):
    """One fault of the truth.

    Attributes:
        kind: `family/shape` of a planted one.
        found_at: the evidence that the miner named for it; None where it did not find it.
    """

    kind: str
    category: Category
    severity: Severity
    evidence_ref: str
    cve_ids: tuple[str, ...]
    found_at: str | None


class FaultsFound(Document, frozen=True):
    """What of the truth a miner found.

    Attributes:
        faults: in the order of the truth; `found` of them it found.
        beside: findings of the miner that name none of them.
    """

    faults: tuple[KnownFault, ...]
    found: int
    beside: int


def explain_faults(truth: Truth | None, reported: tuple[Finding, ...]) -> FaultsFound | None:
    """Return which faults of the truth the findings name; None where the truth does not say what there is to find."""
    known = truth.findings if truth is not None else None
    if not isinstance(known, tuple):
        return None
    named = found_in(known, reported)
    return FaultsFound(
        tuple(
            KnownFault(
                fault.kind,
                fault.category,
                fault.severity,
                fault.evidence_ref,
                fault.cve_ids,
                None if by is None else reported[by].evidence_ref,
            )
            for fault, by in zip(known, named.by, strict=True)
        ),
        found=sum(by is not None for by in named.by),
        beside=len(named.unplanted),
    )
