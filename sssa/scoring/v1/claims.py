"""Claims (findings, capabilities, dependencies, …) of one SSSA and of a group, as comparable sets (SPEC 4)."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

from sssa.protocol.arithmetic import mean
from sssa.protocol.sssa import Sssa, Verdict
from sssa.scoring.scoring_types import Claims
from sssa.scoring.v1.keys import FindingKeys

VERDICTS_BY_SEVERITY: Final[tuple[Verdict, ...]] = ("BLOCK", "REVIEW", "ALLOW")


def claims_of(sssa: Sssa, keys: FindingKeys | None = None) -> Claims:
    """Return what the SSSA claims; lists become sets (SPEC 4). Those that are compared share `keys`."""
    keys = keys or FindingKeys()
    analysis = sssa.analysis
    named = [(keys.package(d.package), d.version, d.cves) for d in analysis.dependencies]
    return Claims(
        findings=frozenset([keys.key(finding) for finding in analysis.findings]),
        verdict=analysis.verdict,
        risk=analysis.risk_score,
        capabilities=frozenset(analysis.capabilities),
        dependencies=frozenset([(package, version) for package, version, _ in named]),
        cves=frozenset([(package, version, cve.upper()) for package, version, cves in named for cve in cves]),
        rules=frozenset([(rule.resource, rule.action, rule.pattern) for rule in sssa.policy.rules]),
    )


def majority_threshold(n: int) -> int:
    """Return T = n // 2 + 1: how many of n valid SSSAs must report a thing to make it the group's (SPEC 4)."""
    return n // 2 + 1


def group_claims(min_valid: int, members: Sequence[Claims]) -> Claims | None:
    """Return what at least T members claim, with the group verdict and the mean risk; None below the least (SPEC 4)."""
    if len(members) < min_valid:
        return None
    threshold = majority_threshold(len(members))
    return Claims(
        findings=_reported(threshold, (m.findings for m in members)),
        verdict=group_verdict([m.verdict for m in members]),
        risk=mean([m.risk for m in members]),
        capabilities=_reported(threshold, (m.capabilities for m in members)),
        dependencies=_reported(threshold, (m.dependencies for m in members)),
        cves=_reported(threshold, (m.cves for m in members)),
        rules=_reported(threshold, (m.rules for m in members)),
    )


def group_verdict(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the most frequent verdict; a tie goes to the more severe of the tied (D-5)."""
    votes = Counter(verdicts)
    return max(VERDICTS_BY_SEVERITY, key=lambda verdict: votes[verdict])  # the first of equals, BLOCK before ALLOW


def _reported(threshold: int, sets: Iterable[frozenset[Any]]) -> frozenset[Any]:
    votes = Counter(item for one in sets for item in one)
    return frozenset(item for item, count in votes.items() if count >= threshold)
