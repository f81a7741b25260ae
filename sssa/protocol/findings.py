"""Risk of a bundle from its findings, and matching of planted faults with reported findings (SPEC 16, D-33).

Risk and verdict of planted truths and of the reference miner come from here; 2.0.0 scores what the matching finds.

Every severity has a weight w (what one finding adds) and a cap c (what any number of them can add together). With n
findings of a severity it contributes `c · (1 − (1 − w/c)^n)`; the risk is one minus the product of (1 − contribution)
over the severities. A known advisory on a dependency counts as half a finding, for the hole may never be reached. A
canary, and what compositions repeat of their children, count nothing.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, Protocol
from urllib.parse import unquote

from sssa.protocol.sssa import (
    Category,
    EvidenceRef,
    EvidenceRefError,
    Finding,
    Severity,
    Verdict,
    parse_evidence_ref,
)
from sssa.protocol.task import KnownFinding
from sssa.protocol.text import nfc

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
    """The parts of a finding that count for scoring."""

    @property
    def category(self) -> Category:
        """Category of the finding."""

    @property
    def severity(self) -> Severity:
        """Severity of the finding."""


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


MOST_LINES_AWAY: Final = 3
_SPACE: Final = " \t\n\v\f\r"
_RUNS: Final = re.compile(r"[-_.]+")
MOST_ADVISORIES: Final = 4  # of one vulnerability
MOST_LINES_NAMED: Final = 20  # a finding that points at a whole file shows no place


class FaultMatches(NamedTuple):
    """The planted faults of one task, matched with findings.

    Attributes:
        by: for each planted fault, in the order of the truth, the index of the finding that names it, or None.
        unplanted: indices of the findings that name none: false alarms, or what was wrong with the bundle before.
    """

    by: tuple[int | None, ...]
    unplanted: tuple[int, ...]


def target_part(category: str, target_pattern: str) -> str:
    """Return the target part of a finding's key (SPEC 3, D-2, D-16)."""
    target = target_pattern.strip(_SPACE)
    return nfc(escape(package_of(target) if category == "dependency_cve" else target))


def escape(text: str) -> str:
    """Return `text` with `%` as `%25` and `|` as `%7C`, so that no field can imitate another (D-2)."""
    return text.replace("%", "%25").replace("|", "%7C") if "%" in text or "|" in text else text


def package_of(target: str) -> str:
    """Return the normal name of the package that `target` is about: a name, name@version or package URL (D-16)."""
    url = target.removeprefix("pkg:").lstrip("/")
    if target.startswith("pkg:") and "/" in url:
        path = url.partition("/")[2].partition("#")[0].partition("?")[0].lstrip("/")
        namespace, slash, name = path.rpartition("/")
        return normal_package(unquote(namespace + slash + _before_version(name)))
    return normal_package(_before_version(target))


def normal_package(name: str) -> str:
    """Return a package name in lower case with runs of `-_.` as one `-` (PEP 503; SPEC 4, D-16)."""
    return _RUNS.sub("-", name.lower())


def _before_version(text: str) -> str:
    at = text.find("@", 1)
    return text if at < 0 else text[:at]


def match_faults(planted: Sequence[KnownFinding], reported: Sequence[Finding]) -> FaultMatches:
    """Return which of the planted faults the findings name.

    A fault is named by a finding of its category: by its advisories where the fault has any, else by its place,
    within three lines of the fault in the same file, with at most twenty lines named; a fault that is a whole file is
    named by any place in it. Each finding names one fault, the nearest that nothing else names.
    """
    theirs = [(finding, _place(finding.evidence_ref)) for finding in reported]
    pairs = sorted(_close_pairs(planted, theirs))
    by: dict[int, int] = {}
    used: set[int] = set()
    for _, fault, finding in pairs:
        if fault not in by and finding not in used:
            by[fault] = finding
            used.add(finding)
    # A fault that several findings name, or one finding that names several, is no false alarm.
    naming = {finding for _, _, finding in pairs}
    return FaultMatches(
        tuple(by.get(i) for i in range(len(planted))), tuple(i for i in range(len(reported)) if i not in naming)
    )


def _close_pairs(
    planted: Sequence[KnownFinding], theirs: Sequence[tuple[Finding, EvidenceRef | None]]
) -> Iterator[tuple[int, int, int]]:
    """Yield (lines between, index of the fault, index of the finding) of every possible match."""
    by_category: dict[str, list[int]] = {}
    for i, (finding, _) in enumerate(theirs):
        by_category.setdefault(finding.category, []).append(i)
    for i, fault in enumerate(planted):
        place = _place(fault.evidence_ref)
        for j in by_category.get(fault.category, ()):
            finding, named = theirs[j]
            between = _advisories_between(fault, finding) if fault.cve_ids else _between(place, named)
            if between is not None:
                yield between, i, j


def _advisories_between(fault: KnownFinding, finding: Finding) -> int | None:
    """Return 0 if a finding's advisories name the fault: few ids, mostly the fault's, or about its package (D-38)."""
    theirs = {cve.upper() for cve in finding.cve_ids}
    shared = len(theirs.intersection(cve.upper() for cve in fault.cve_ids))
    if not shared:
        return None
    if len(theirs) <= MOST_ADVISORIES or 2 * shared > len(theirs):
        return 0
    same = target_part(finding.category, finding.target_pattern) == target_part(fault.category, fault.target_pattern)
    return 0 if same else None


def _between(fault: EvidenceRef | None, named: EvidenceRef | None) -> int | None:
    """Return how many lines are between a fault and a place that is named; None if it is another place."""
    if fault is None or named is None or fault.path != named.path:
        return None
    if fault.first is None or fault.last is None:
        return 0
    if named.first is None or named.last is None or named.last - named.first >= MOST_LINES_NAMED:
        return None
    between = max(0, named.first - fault.last, fault.first - named.last)
    return between if between <= MOST_LINES_AWAY else None


def _place(text: str) -> EvidenceRef | None:
    try:
        return parse_evidence_ref(text)
    except EvidenceRefError:
        return None
