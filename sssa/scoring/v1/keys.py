"""Canonical finding keys (SPEC 3): two miners that describe the same risk in other words get the same key."""

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

from sssa.protocol.findings import escape, normal_package, target_part
from sssa.protocol.sssa import Finding, ordinary_form, parse_evidence_ref
from sssa.protocol.text import nfc


def finding_key(finding: Finding) -> str:
    """Return the hex sha256 of `category | severity | evidence | cves | target` (SPEC 3).

    Raises:
        EvidenceRefError: the evidence reference is outside the grammar (gate 2 refuses such an SSSA).
    """
    return _hashed(key_parts(finding))


class FindingKeys:
    """Keys of findings and normal names of packages, each computed once.

    A round shares one: claims, proofs and statements are about the same findings, and members of a group mostly name
    the same ones. A hostile text takes up to 0.1 ms to normalize.
    """

    def __init__(self) -> None:
        self._spelled: dict[tuple[str, str, str, tuple[str, ...], str], _Keyed] = {}  # by the finding as spelled
        self._keyed: dict[tuple[str, str, str, tuple[str, ...], str], _Keyed] = {}  # by its evidence in normal form
        self._packages: dict[str, str] = {}

    def key(self, finding: Finding) -> str:
        """Return `finding_key(finding)` (EvidenceRefError: the evidence reference is outside the grammar)."""
        return self._of(finding).key

    def parts(self, finding: Finding) -> tuple[str, str, str, str, str]:
        """Return `key_parts(finding)` (EvidenceRefError: the evidence reference is outside the grammar)."""
        return self._of(finding).parts

    def _of(self, finding: Finding) -> "_Keyed":
        category, severity, target = finding.category, finding.severity, finding.target_pattern
        spelled = (category, severity, finding.evidence_ref, finding.cve_ids, target)
        keyed = self._spelled.get(spelled)
        if keyed is None:
            named = (category, severity, normalised_evidence(finding.evidence_ref), finding.cve_ids, target)
            keyed = self._keyed.get(named)
            if keyed is None:
                parts = _parts(*named)
                keyed = self._keyed[named] = _Keyed(parts, _hashed(parts))
            self._spelled[spelled] = keyed
        return keyed

    def package(self, name: str) -> str:
        """Return `normal_package(name)`."""
        normal = self._packages.get(name)
        if normal is None:
            normal = self._packages[name] = normal_package(name)
        return normal


class _Keyed(NamedTuple):
    parts: tuple[str, str, str, str, str]
    key: str


def key_parts(finding: Finding) -> tuple[str, str, str, str, str]:
    """Return the five parts of the key, NFC, in order (SPEC 3, D-2, D-16).

    Raises:
        EvidenceRefError: the evidence reference is outside the grammar.
    """
    evidence = normalised_evidence(finding.evidence_ref)
    return _parts(finding.category, finding.severity, evidence, finding.cve_ids, finding.target_pattern)


def _parts(
    category: str, severity: str, evidence: str, cve_ids: Sequence[str], target_pattern: str
) -> tuple[str, str, str, str, str]:
    cves = ",".join(sorted({cve.upper() for cve in cve_ids})) if cve_ids else ""
    return (
        category,
        severity,
        "" if category == "dependency_cve" else evidence,
        cves,
        target_part(category, target_pattern),
    )


def _hashed(parts: Sequence[str]) -> str:
    return hashlib.sha256("|".join(parts).encode()).hexdigest()


def normalised_evidence(evidence_ref: str) -> str:
    """Return the reference without its span prefix, in normal form, escaped, NFC (SPEC 3).

    Raises:
        EvidenceRefError: outside the grammar.
    """
    ordinary = ordinary_form(evidence_ref)
    return nfc(escape(str(parse_evidence_ref(evidence_ref)))) if ordinary is None else ordinary
