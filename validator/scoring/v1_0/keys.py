"""Canonical finding keys (SPEC 3): two miners that describe the same risk in other words get the same key."""

import hashlib
import re
from urllib.parse import unquote

from validator.protocol.evidence import parse_evidence_ref
from validator.protocol.nfc import nfc
from validator.protocol.sssa import Finding

_SPACE = " \t\n\v\f\r"
_RUNS = re.compile(r"[-_.]+")


def finding_key(finding: Finding) -> str:
    """Return the hex sha256 of `category | severity | evidence | cves | target` (SPEC 3).

    Raises:
        EvidenceRefError: the evidence reference is outside the grammar (gate 2 refuses such an SSSA).
    """
    return hashlib.sha256("|".join(key_parts(finding)).encode()).hexdigest()


def key_parts(finding: Finding) -> tuple[str, str, str, str, str]:
    """Return the five parts of the key, NFC, in order (SPEC 3, D-2, D-16).

    Raises:
        EvidenceRefError: the evidence reference is outside the grammar.
    """
    evidence = normalised_evidence(finding.evidence_ref)
    target = finding.target_pattern.strip(_SPACE)
    if finding.category == "dependency_cve":
        evidence, target = "", package_of(target)
    cves = ",".join(sorted({cve.upper() for cve in finding.cve_ids}))
    return finding.category, finding.severity, evidence, cves, nfc(escape(target))


def normalised_evidence(evidence_ref: str) -> str:
    """Return the reference without its span prefix, in normal form, escaped, NFC (SPEC 3).

    Raises:
        EvidenceRefError: outside the grammar.
    """
    return nfc(escape(str(parse_evidence_ref(evidence_ref))))


def escape(text: str) -> str:
    """Return `text` with `%` as `%25` and `|` as `%7C`, so that no field can imitate another (D-2)."""
    return text.replace("%", "%25").replace("|", "%7C")


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
