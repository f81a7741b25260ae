"""The Signed Skill Safety Attestation, schema 1.0 (SPEC 2), and the grammar of evidence references (SPEC 3, D-1)."""

import re
from typing import Annotated, Any, Final, Literal, NamedTuple

from msgspec import Meta, Struct

from sssa.protocol import limits
from sssa.protocol.canonical import canonical_with
from sssa.protocol.errors import ValidatorError
from sssa.protocol.skill_types import OfAssessment, SkillType
from sssa.protocol.strict_json import SchemaError

_SPAN_ID = re.compile(r"[A-Za-z0-9_.\-]{1,64}", re.ASCII)
# What nearly every reference is: nothing has to be taken out of it, and only the order of the lines can be wrong.
_ORDINARY: Final = re.compile(
    r"(?:[A-Za-z0-9_.\-]{1,64}+::)?+"
    r"((?:[A-Za-z0-9_\-][A-Za-z0-9_.\-]*+/)*+[A-Za-z0-9_\-][A-Za-z0-9_.\-]*+"
    r"(?:#L([1-9][0-9]{0,8}+)(?:-L([1-9][0-9]{0,8}+))?+)?+)"
)
_LINES = re.compile(r"L([1-9][0-9]{0,8})(?:-L([1-9][0-9]{0,8}))?", re.ASCII)


class EvidenceRefError(ValidatorError):
    """An evidence reference does not follow `[span_id::]path[#La[-Lb]]`."""


class EvidenceRef(NamedTuple):
    """A place in a bundle.

    Attributes:
        path: relative path, normalised.
        first: first line, from 1; None when the whole file is meant.
        last: last line, inclusive; None when the whole file is meant.
    """

    path: str
    first: int | None = None
    last: int | None = None

    def __str__(self) -> str:
        """Return the normal form without a span prefix."""
        return self.path if self.first is None else f"{self.path}#L{self.first}-L{self.last}"


def ordinary_form(text: str) -> str | None:
    """Return the normal form of a reference as nearly all are: ASCII without `%` and `|`. None: it has to be parsed."""
    match = _ORDINARY.fullmatch(text)
    if match is None:
        return None
    place: str
    place, first, last = match.groups()
    if last is None:
        return place if first is None else f"{place}-L{first}"
    return place if int(first) <= int(last) else None


def parse_evidence_ref(text: str) -> EvidenceRef:
    """Return the place that `text` names, its span prefix dropped (D-1).

    Raises:
        EvidenceRefError: the text is outside the grammar; the message says where.
    """
    ordinary = ordinary_form(text)
    if ordinary is not None:
        path, _, lines = ordinary.partition("#L")
        first, _, last = lines.partition("-L")
        return EvidenceRef(path, int(first), int(last)) if lines else EvidenceRef(path)
    span, separator, rest = text.partition("::")
    if not separator:
        rest = text
    elif not _SPAN_ID.fullmatch(span):
        raise EvidenceRefError("the part before `::` must be 1 to 64 of A-Z a-z 0-9 _ . -")
    path, hash_sign, lines = rest.partition("#")
    return EvidenceRef(_normal_path(path), *(_line_range(lines) if hash_sign else (None, None)))


def _normal_path(path: str) -> str:
    if path.startswith("/"):
        raise EvidenceRefError("the path must be relative")
    if "\\" in path:
        raise EvidenceRefError("the path must not hold a backslash")
    segments = [segment for segment in path.split("/") if segment not in ("", ".")]
    if ".." in segments:
        raise EvidenceRefError("the path must not hold `..`")
    if not segments:
        raise EvidenceRefError("the path is empty")
    return "/".join(segments)


def _line_range(text: str) -> tuple[int, int]:
    match = _LINES.fullmatch(text)
    if match is None:
        raise EvidenceRefError("after `#` only `La` or `La-Lb` may stand, decimals from 1 without leading zeros")
    first = int(match[1])
    last = int(match[2]) if match[2] else first
    if first > last:
        raise EvidenceRefError("the first line must not be after the last")
    return first, last


Verdict = Literal["ALLOW", "BLOCK", "REVIEW"]
Category = Literal[
    "prompt_injection",
    "secrets_exposure",
    "excessive_capability",
    "dependency_cve",
    "tool_poisoning",
    "transitive_risk",
    "canary_match",
    "other",
]
Severity = Literal["low", "medium", "high", "critical"]
Text = Annotated[str, Meta(max_length=limits.MAX_STRING)]
Description = Annotated[str, Meta(max_length=limits.MAX_DESCRIPTION)]
Unit = Annotated[float, Meta(ge=0, le=1)]
Hex32 = Annotated[str, Meta(pattern=r"\A[0-9a-fA-F]{64}\Z")]
Cves = Annotated[tuple[Text, ...], Meta(max_length=limits.MAX_CVES_PER_ENTRY)]
TraceHash = Annotated[str, Meta(pattern=r"\Asha256:[0-9a-f]{64}\Z")]

_CVE_ID: Final = re.compile(r"CVE-[0-9]{4}-[0-9]{4,}|GHSA(-[0-9a-z]{4}){3}", re.ASCII | re.IGNORECASE)
LLM_USES: Final = frozenset({"finding_enrichment", "mitre_owasp_mapping", "cve_explanation"})


class Document(Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A closed wire document: unknown fields are refused, every field is present.

    The garbage collector does not look at documents: they are trees, and many thousands may be held.
    """


class Skill(OfAssessment, Document, frozen=True):
    """Dispatch that the attestation belongs to."""

    skill_type: SkillType
    bundle_sha256: Hex32
    nonce: Hex32


class Finding(Document, frozen=True):
    """One risk, with the place that shows it."""

    id: Text
    category: Category
    severity: Severity
    description: Description
    evidence_ref: Text
    cve_ids: Cves
    target_pattern: Text


class Dependency(Document, frozen=True):
    """One entry of the SBOM with the CVEs known for it."""

    package: Text
    version: Text
    cves: Cves


class Analysis(Document, frozen=True):
    """Conclusion of the miner."""

    verdict: Verdict
    risk_score: Unit
    findings: Annotated[tuple[Finding, ...], Meta(max_length=limits.MAX_FINDINGS)]
    capabilities: Annotated[tuple[Text, ...], Meta(max_length=limits.MAX_CAPABILITIES)]
    dependencies: Annotated[tuple[Dependency, ...], Meta(max_length=limits.MAX_DEPENDENCIES)]


class SandboxManifest(Document, frozen=True):
    """The image that a runtime primary says it ran the skill in."""

    image: Text
    digest: Text
    tracer_version: Text


class LlmEvidence(Document, frozen=True):
    """Use of a language model; gate 3 judges `allowed_use`."""

    model_id: Text
    prompt_sha256: Text
    response_sha256: Text
    allowed_use: Text


class Evidence(Document, frozen=True):
    """Evidence for the analysis."""

    trace_hashes: dict[Text, TraceHash]
    manifest_sha256: Hex32 | None
    sandbox_manifest: SandboxManifest | None
    llm_evidence: LlmEvidence | None


class Rule(Document, frozen=True):
    """One enforcement rule."""

    resource: Text
    action: Text
    pattern: Text


class Policy(Document, frozen=True):
    """The policy that the miner recommends."""

    rules: Annotated[tuple[Rule, ...], Meta(max_length=limits.MAX_RULES)]


class Signature(Document, frozen=True):
    """Signature of the document's canonical bytes without `value`: signer, scheme and value."""

    hotkey: Text
    crypto: Literal["sr25519", "ed25519"]
    value: Annotated[str, Meta(pattern=r"\A0x[0-9a-fA-F]{128}\Z")]


class Sssa(Document, frozen=True):
    """A miner's attestation."""

    schema_version: Literal["1.0"]
    skill: Skill
    analysis: Analysis
    evidence: Evidence
    policy: Policy
    signature: Signature


def check_sssa(sssa: Sssa) -> None:
    """Check what the types cannot say: CVE ids, evidence references, the number of CVEs, `signature` text.

    Raises:
        SchemaError: naming the field.
    """
    analysis = sssa.analysis
    total = 0
    for i, finding in enumerate(analysis.findings):
        if finding.cve_ids or ordinary_form(finding.evidence_ref) is None:
            total += check_finding(finding, f"analysis.findings[{i}]")
    for i, dependency in enumerate(analysis.dependencies):
        if dependency.cves:
            total += check_cves(dependency.cves, f"analysis.dependencies[{i}].cves")
    if total > limits.MAX_CVES:
        raise SchemaError(f"{total} CVEs in the document, at most {limits.MAX_CVES}")


def check_finding(finding: Finding, where: str) -> int:
    """Check one finding's evidence reference and CVE ids; return the number of CVEs.

    Raises:
        SchemaError: naming the field below `where`.
    """
    if ordinary_form(finding.evidence_ref) is None:
        try:
            parse_evidence_ref(finding.evidence_ref)
        except EvidenceRefError as error:
            raise SchemaError(f"{error} - at `{where}.evidence_ref`") from None
    return check_cves(finding.cve_ids, f"{where}.cve_ids")


def check_cves(cves: tuple[str, ...], where: str) -> int:
    """Check the form of CVE ids; return how many there are (SchemaError: naming the item below `where`)."""
    for i, cve in enumerate(cves):
        if not _CVE_ID.fullmatch(cve):
            raise SchemaError(f"not a CVE or GHSA id - at `{where}[{i}]`")
    return len(cves)


def signing_bytes(document: Any) -> bytes:
    """Return the bytes that `document.signature.value` signs: RFC 8785 without that value (SPEC 2)."""
    signature: Signature = document.signature
    return canonical_with(document, "signature", {"hotkey": signature.hotkey, "crypto": signature.crypto})
