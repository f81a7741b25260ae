"""The analysis of a bundle: every sub-analyser over its files, then risk, verdict and policy. Nothing is run."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Final, TypeVar

import msgspec

from miner.analysis.bounds import Budget
from miner.analysis.canary import find_canary
from miner.analysis.composition import Conclusion, children_of, read_children
from miner.analysis.documents import is_document, read_documents
from miner.analysis.grants import read_grants
from miner.analysis.manifest import manifest_findings, read_manifest
from miner.analysis.mcp_manifest import MANIFEST, read_server
from miner.analysis.npm_packages import read_packages
from miner.analysis.policy import rules_for
from miner.analysis.python_code import read_python
from miner.analysis.requirements import declares_dependencies, read_dependencies
from miner.analysis.result import UNREAD_RISK, Analysis, Report, found, merged
from miner.analysis.script.read import read_scripts
from miner.analysis.script.syntax import language_of
from miner.analysis.secret_scan import read_settings
from miner.analysis.shell_code import is_shell, read_shell
from miner.analysis.source import SourceFile, addressable
from miner.analysis.unread import name_unread
from validator.protocol import limits
from validator.protocol.canonical import sha256_hex
from validator.protocol.findings import SEVERITIES, VERDICTS, risk_of, verdict_of
from validator.protocol.skill_types import SkillType, is_runtime
from validator.protocol.sssa import Dependency, Finding

# Bytes of each list: together with what else it says an attestation stays within `limits.MAX_ATTESTATION` (D-44).
_FINDINGS_ROOM: Final = limits.MAX_ATTESTATION // 2
_DEPENDENCIES_ROOM: Final = limits.MAX_ATTESTATION // 4
_RULES_ROOM: Final = limits.MAX_ATTESTATION // 8
_D = TypeVar("_D")
_UNNAMED_RISK: Final = 0.5  # of a bundle in which no file has a name that evidence can hold


def analyse(
    files: Mapping[str, bytes], skill_type: SkillType, *, canary_marker: str | None = None, depth: int = 0
) -> Analysis:
    """Return the conclusion about a bundle. A pure function: the same bundle gives the same result.

    Args:
        files: the bundle's files by path, as `protocol.bundles.read_bundle` gives them.
        skill_type: what the bundle was dispatched as.
        canary_marker: the marker of this dispatch (SPEC 13); None without a canary.
        depth: how many compositions the bundle stands in.
    """
    named = sources_of(files)
    unnamed = len(files) - len(named)
    extra = (*_unnamed(named, unnamed), *find_canary(named.values(), canary_marker).findings)
    analysis = _conclude(named, skill_type, Budget(), depth, extra).analysis
    if unnamed and not named:
        return replace(analysis, verdict=verdict_of(_UNNAMED_RISK), risk_score=_UNNAMED_RISK)
    return analysis


def sources_of(files: Mapping[str, bytes]) -> dict[str, SourceFile]:
    """Return the files that evidence can name, by path."""
    return {path: SourceFile(path, files[path]) for path in sorted(files) if addressable(path)}


def conclude(sources: dict[str, SourceFile], skill_type: SkillType) -> Conclusion:
    """Return the analysis of the files with the uses behind it, for whoever shows where they are."""
    return _conclude(sources, skill_type, Budget(), 0)


def _conclude(
    sources: dict[str, SourceFile],
    skill_type: SkillType,
    budget: Budget,
    depth: int,
    extra: tuple[Finding, ...] = (),
) -> Conclusion:
    composed = skill_type is SkillType.AGENT_COMPOSITION
    children, faults = children_of(sources) if composed else ([], [])
    family = read_children(sources, children, lambda files, kind: _conclude(files, kind, budget, depth + 1), depth)
    folders = tuple(f"{child.path}/" for child in children)
    own = {path: source for path, source in sources.items() if not path.startswith(folders)}
    report = _read(own, skill_type, budget)
    declared = manifest_findings(read_manifest(own), skill_type, report.uses, report.findings)
    findings = (*report.findings, *faults, *declared, *extra)
    risk = max(risk_of(findings), family.risk, UNREAD_RISK if report.unread else 0.0)
    everything = merged([Report(findings=findings, uses=report.uses), family.report])
    analysis = Analysis(
        verdict=max(verdict_of(risk), family.verdict, key=VERDICTS.index),
        risk_score=risk,
        findings=_numbered(everything.findings),
        capabilities=tuple(sorted(everything.capabilities)),
        dependencies=_unique((*report.dependencies, *family.report.dependencies)),
        rules=_fitting(rules_for(everything.uses, everything.findings), _RULES_ROOM),
        manifest_sha256=_manifest_sha256(sources, skill_type),
        shell_commands=tuple(dict.fromkeys((*report.shell_commands, *family.report.shell_commands))),
    )
    return Conclusion(analysis, everything.uses)


def _read(sources: dict[str, SourceFile], skill_type: SkillType, budget: Budget) -> Report:
    """Return what the bundle's own files hold, each read as what it is, whatever the bundle calls itself."""
    files = list(sources.values())
    python = [source for source in files if source.suffix in ("py", "pyw")]
    scripts = read_scripts(files, budget)
    others = [s for s in files if not (s in python or is_shell(s) or is_document(s) or language_of(s))]
    reports = [
        read_server(sources, scripts.offered, budget) if skill_type is SkillType.MCP_SERVER else Report(),
        read_python(python, budget),
        scripts.report,
        read_shell([source for source in files if is_shell(source)], budget),
        read_documents(filter(is_document, files), budget, content=not is_runtime(skill_type)),
        read_settings(others, budget),
        read_grants([*others, *filter(is_document, files)]),
        read_dependencies(filter(declares_dependencies, files)),
        read_packages(files, budget),
        name_unread(files),
    ]
    return merged(reports)


def _unnamed(sources: dict[str, SourceFile], count: int) -> Iterable[Finding]:
    if count and sources:
        first = next(iter(sources.values()))
        text = f"{count} files have names that no evidence reference can hold; what is in them was not looked at."
        yield found("other", "high", first.place(), text, first.path)


def _manifest_sha256(sources: dict[str, SourceFile], skill_type: SkillType) -> str | None:
    if skill_type is not SkillType.MCP_SERVER or MANIFEST not in sources:
        return None
    return sha256_hex(sources[MANIFEST].content)


def _numbered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings, the most severe first, one for each (category, evidence, CVEs, target), with ids."""
    ordered = sorted(
        findings,
        key=lambda f: (
            SEVERITIES.index(f.severity),
            f.evidence_ref,
            f.category,
            f.target_pattern,
            f.cve_ids,
            f.description,
        ),
    )
    unique: dict[tuple[object, ...], Finding] = {}
    for finding in ordered:
        unique.setdefault((finding.category, finding.evidence_ref, finding.cve_ids, finding.target_pattern), finding)
    kept = _fitting(list(unique.values())[: limits.MAX_FINDINGS], _FINDINGS_ROOM)
    return tuple(msgspec.structs.replace(finding, id=f"f{n}") for n, finding in enumerate(kept, start=1))


def _unique(dependencies: Iterable[Dependency]) -> tuple[Dependency, ...]:
    known = {(d.package, d.version): d for d in dependencies}
    return _fitting([known[key] for key in sorted(known)][: limits.MAX_DEPENDENCIES], _DEPENDENCIES_ROOM)


def _fitting(documents: Sequence[_D], room: int) -> tuple[_D, ...]:
    """Return the first documents that take at most `room` bytes together."""
    ends = accumulate(len(_text(one).encode(errors="surrogatepass")) + 1 for one in documents)
    return tuple(documents[: sum(end <= room for end in ends)])


def _text(document: object) -> str:
    return json.dumps(msgspec.to_builtins(document), ensure_ascii=False, separators=(",", ":"))
