"""Gate 7: how far a primary's traces cover what its group's traces show (SPEC 5, D-21)."""

from collections import Counter
from collections.abc import Mapping, Sequence

from sssa.protocol.arithmetic import mean
from sssa.protocol.skill_types import BASE_TRACES
from sssa.scoring.v1.rules import Ruled

Signatures = Mapping[str, frozenset[bytes]]


def reference_signatures(min_witnesses: int, traces: Sequence[Signatures]) -> Signatures | None:
    """Return per base file the signatures in a strict majority of the traces; None below the least (D-21)."""
    if len(traces) < min_witnesses:
        return None
    return {name: _majority([signatures[name] for signatures in traces]) for name in BASE_TRACES}


def semantic_subset(reference: Signatures, own: Signatures) -> float:
    """Return the mean over the base files of |reference ∩ own| / |reference|, 1 for an empty reference (SPEC 5)."""
    return mean([_share(reference[name], own[name]) for name in BASE_TRACES])


def semantic_subsets(version: Ruled, traces: Mapping[str, Signatures]) -> dict[str, float | None]:
    """Return each primary's semantic_subset; `traces` maps the hotkeys of those that passed gate 6 to signatures."""
    reference = reference_signatures(version.rules.quality.min_witnesses, list(traces.values()))
    return {hotkey: None if reference is None else semantic_subset(reference, own) for hotkey, own in traces.items()}


def _majority(sets: Sequence[frozenset[bytes]]) -> frozenset[bytes]:
    votes = Counter(item for one in sets for item in one)
    return frozenset(item for item, count in votes.items() if 2 * count > len(sets))


def _share(reference: frozenset[bytes], own: frozenset[bytes]) -> float:
    return len(reference & own) / len(reference) if reference else 1.0
