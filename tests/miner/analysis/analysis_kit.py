"""Helpers for tests of the analysis: small bundles, and the whole document around an analysis."""

import json
from collections.abc import Mapping

from msgspec import json as wire

from miner.analysis import SCANNERS, Analysis, analyse, bundle_of, conclude, scan
from miner.scanners.semgrep import Semgrep
from sssa.protocol import limits
from sssa.protocol.bundles import evidence_resolves, index_bundle
from sssa.protocol.skill_types import SkillType
from sssa.protocol.sssa import Analysis as AnalysisDocument
from sssa.protocol.sssa import Evidence, Finding, Policy, Signature, Skill, Sssa, check_sssa, parse_evidence_ref
from sssa.protocol.strict_json import decode, require_room

PYTHON = SkillType.EXECUTABLE_PYTHON
SCRIPT = SkillType.EXECUTABLE_SCRIPT
SERVER = SkillType.MCP_SERVER
TEAM = SkillType.AGENT_COMPOSITION
KNOWLEDGE = SkillType.RAG_KNOWLEDGE
PROMPT = SkillType.DECLARATIVE


def of_python(source: str | bytes) -> Analysis:
    content = source.encode() if isinstance(source, str) else source
    return analyse({"main.py": content}, PYTHON)


def of_script(source: str) -> Analysis:
    return analyse({"main.sh": source.encode()}, SCRIPT)


def of_document(text: str, name: str = "docs/page.md") -> Analysis:
    return without_code({name: text.encode()}, KNOWLEDGE)


def without_code(files: Mapping[str, bytes], skill_type: SkillType) -> Analysis:
    """Return the analysis without the scanners of code, which cost a process each time."""
    bundle = bundle_of(files, skill_type)
    return conclude(bundle, scan(bundle, [one for one in SCANNERS if not isinstance(one, Semgrep)]))


def findings_of(analysis: Analysis, category: str) -> list[tuple[str, str]]:
    """Return (severity, evidence) of the findings of one category, in their order."""
    return [(f.severity, f.evidence_ref) for f in analysis.findings if f.category == category]


def worst(analysis: Analysis) -> Finding | None:
    return analysis.findings[0] if analysis.findings else None


def manifest(entry_point: str = "", capabilities: tuple[str, ...] = (), skill_type: str = "") -> bytes:
    document = {"name": "n", "entry_point": entry_point, "capabilities": capabilities, "skill_type": skill_type}
    return json.dumps(document, indent=1).encode()


def assert_fits_document(analysis: Analysis, files: Mapping[str, bytes], skill_type: SkillType) -> None:
    """The analysis must fit into an SSSA that the validator accepts, with evidence that resolves."""
    document = Sssa(
        schema_version="1.0",
        skill=Skill(skill_type, "0" * 64, "0" * 64),
        analysis=AnalysisDocument(
            verdict=analysis.verdict,
            risk_score=analysis.risk_score,
            findings=analysis.findings,
            capabilities=analysis.capabilities,
            dependencies=analysis.dependencies,
        ),
        evidence=Evidence({}, analysis.manifest_sha256, None, None),
        policy=Policy(analysis.rules),
        signature=Signature("5", "sr25519", "0x" + "0" * 128),
    )
    data = wire.encode(document)
    assert decode(data, Sssa, limit=limits.MAX_BODY, values=limits.MAX_ANSWER_VALUES) == document
    check_sssa(document)
    require_room(document, limits.MAX_ATTESTATION)
    assert [f.id for f in analysis.findings] == [f"f{n}" for n in range(1, len(analysis.findings) + 1)]
    counts = {entry.path: entry.lines for entry in index_bundle(files)}
    for finding in analysis.findings:
        assert evidence_resolves(parse_evidence_ref(finding.evidence_ref), counts), finding
