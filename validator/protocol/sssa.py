"""The Signed Skill Safety Attestation, schema 1.0 (SPEC 2)."""

import re
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct

from validator.protocol import limits
from validator.protocol.canonical import canonical_with
from validator.protocol.evidence import EvidenceRefError, ordinary_form, parse_evidence_ref
from validator.protocol.skill_types import SkillType, require_assessed
from validator.protocol.strict_json import SchemaError

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


class Skill(Document, frozen=True):
    """Which dispatch the attestation is about."""

    skill_type: SkillType
    bundle_sha256: Hex32
    nonce: Hex32

    def __post_init__(self) -> None:
        require_assessed(self.skill_type)


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
    """What the miner concluded."""

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
    """What a model was used for; gate 3 judges `allowed_use`."""

    model_id: Text
    prompt_sha256: Text
    response_sha256: Text
    allowed_use: Text


class Evidence(Document, frozen=True):
    """What backs the analysis."""

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
    """Who signed the document's canonical bytes without `value`, and how."""

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
    """Check the form of CVE ids; return how many there are.

    Raises:
        SchemaError: naming the item below `where`.
    """
    for i, cve in enumerate(cves):
        if not _CVE_ID.fullmatch(cve):
            raise SchemaError(f"not a CVE or GHSA id - at `{where}[{i}]`")
    return len(cves)


def signing_bytes(document: Any) -> bytes:
    """Return the bytes that `document.signature.value` signs: RFC 8785 without that value (SPEC 2)."""
    signature: Signature = document.signature
    return canonical_with(document, "signature", {"hotkey": signature.hotkey, "crypto": signature.crypto})
