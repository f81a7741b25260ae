"""Risk and verdict from findings, as the reference miner says them and planted truths have them; nothing scores by it.

Every severity has a weight w (what one finding adds) and a cap c (what any number of them can add together). With n
findings of a severity it contributes `c · (1 − (1 − w/c)^n)`; the risk is one minus the product of (1 − contribution)
over the severities. A known advisory on a dependency counts as half a finding, for the hole may never be reached. A
canary, and what compositions repeat of their children, count nothing.
"""

from collections.abc import Iterable
from typing import Final, Protocol

from validator.protocol.sssa import Category, Severity, Verdict

WEIGHT_AND_CAP: Final[dict[Severity, tuple[float, float]]] = {
    "low": (0.02, 0.10),
    "medium": (0.18, 0.45),
    "high": (0.50, 0.75),
    "critical": (0.85, 0.97),
}
_SHARE: Final[dict[Category, float]] = {"dependency_cve": 0.5, "canary_match": 0.0, "transitive_risk": 0.0}
REVIEW_FROM: Final = 0.30
BLOCK_FROM: Final = 0.70
VERDICTS: Final[tuple[Verdict, ...]] = ("ALLOW", "REVIEW", "BLOCK")  # by severity
SEVERITIES: Final[tuple[Severity, ...]] = ("critical", "high", "medium", "low")


class Weighed(Protocol):
    """What counts of a finding."""

    @property
    def category(self) -> Category:
        """Of what it is."""

    @property
    def severity(self) -> Severity:
        """How much it counts."""


def risk_of(findings: Iterable[Weighed]) -> float:
    """Return the risk in [0, 1], four decimals: never less for one finding more."""
    counts = dict.fromkeys(WEIGHT_AND_CAP, 0.0)
    for finding in findings:
        counts[finding.severity] += _SHARE.get(finding.category, 1.0)
    safe = 1.0
    for severity, (weight, cap) in WEIGHT_AND_CAP.items():
        safe *= 1.0 - cap * (1.0 - (1.0 - weight / cap) ** counts[severity])
    return round(1.0 - safe, 4)


def verdict_of(risk: float) -> Verdict:
    """Return BLOCK from a risk of 0.70 on, REVIEW from 0.30 on, else ALLOW."""
    if risk >= BLOCK_FROM:
        return "BLOCK"
    return "REVIEW" if risk >= REVIEW_FROM else "ALLOW"
