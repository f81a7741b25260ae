"""The reference miner's analysis of a bundle: scanners over its files, then risk, verdict, policy. Runs no bundle.

Called by every answer of the miner, by `tasks draft`, and, as an entry point, by `tasks seed --report`.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, Final, TypeVar

import msgspec

from miner.scanners.flows import Flows
from miner.scanners.packages import Packages
from miner.scanners.prose import Prose, host_of
from miner.scanners.scanner import Bundle, Part, Report, Scanner, Use, merged, new_finding
from miner.scanners.semgrep import Semgrep
from miner.scanners.servers import MANIFEST, tool_findings
from miner.scanners.settings import COMPOSITION, Settings, snippets_of
from miner.scanners.source import SourceFile, addressable, is_for_agents, line_of, objects, read_object, runs_in, string
from miner.scanners.unread_files import Unread
from sssa.protocol import limits
from sssa.protocol import vocabulary as cap
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.findings import SEVERITIES, risk_of, verdict_of
from sssa.protocol.skill_types import SkillType, is_runtime
from sssa.protocol.sssa import (
    Dependency,
    EvidenceRefError,
    Finding,
    Rule,
    Severity,
    Verdict,
    parse_evidence_ref,
)
from sssa.protocol.text import printable

SCANNERS: Final[tuple[Scanner, ...]] = (Semgrep(), Flows(), Prose(), Settings(), Packages(), Unread())
UNREAD_RISK: Final = 0.35  # at least, of a bundle with code that no scanner reads
MAX_PATTERNS: Final = 64  # policy patterns of one resource
_UNNAMED_RISK: Final = 0.5  # of a bundle in which no file has a name that evidence can hold
_MAX_CHILDREN: Final = 32  # of one composition
_MAX_PARTS: Final = 128  # compositions within compositions are looked into up to this number
# Bytes of each list: together with what else it says an attestation stays within `limits.MAX_ATTESTATION` (D-44).
_FINDINGS_ROOM: Final = limits.MAX_ATTESTATION // 2
_DEPENDENCIES_ROOM: Final = limits.MAX_ATTESTATION // 4
_RULES_ROOM: Final = limits.MAX_ATTESTATION // 8
_SEVERE: Final = frozenset({"high", "critical"})
_STARTS: Final = re.compile(r"programs start by themselves|set up to run by itself|settings of an agent are changed")
_START: Final = re.compile(
    r"\.(?:zprofile|zshrc|zshenv|bashrc|bash_profile|profile)\b|\bsystemd\b|\bLaunchAgents\b|\bcrontab\b"
    r"|\bsettings\.json\b|\bhooks\b|\b(?:CLAUDE|AGENTS|GEMINI|MEMORY|SOUL)\.md\b"
)
_UNDOING: Final = re.compile(r"(?i:\bundo|\buninstall|\bremove everything|--remove\b)")
_D = TypeVar("_D")


@dataclass(frozen=True, slots=True)
class Analysis:
    """The conclusion about one bundle: what goes into an SSSA's `analysis`, `policy` and `evidence` (SPEC 2).

    Attributes:
        risk_score: in [0, 1], four decimals.
        findings: at most 512, the most severe first, ids f1, f2, ...
        dependencies: pinned packages, sorted, with the CVEs that are known for them.
        manifest_sha256: of mcp.json's bytes; None for every other skill type.
    """

    verdict: Verdict
    risk_score: float
    findings: tuple[Finding, ...]
    capabilities: tuple[str, ...]
    dependencies: tuple[Dependency, ...]
    rules: tuple[Rule, ...]
    manifest_sha256: str | None


def analyse(files: Mapping[str, bytes], skill_type: SkillType, *, canary_marker: str | None = None) -> Analysis:
    """Return the conclusion about a bundle, the same each time; the marker is that of this dispatch (SPEC 13)."""
    bundle = bundle_of(files, skill_type)
    extra: list[Finding] = list(_canaries(bundle, canary_marker))
    unnamed = len(files) - len(bundle.sources)
    if unnamed and bundle.sources:
        first = next(iter(bundle.sources.values()))
        text = f"{unnamed} files have names that no evidence reference can hold; what is in them was not looked at."
        extra.append(new_finding("other", "high", first.place(), text, first.path))
    analysis = conclude(bundle, scan(bundle), extra)
    if unnamed and not bundle.sources:
        return replace(analysis, verdict=verdict_of(_UNNAMED_RISK), risk_score=_UNNAMED_RISK)
    return analysis


def bundle_of(files: Mapping[str, bytes], skill_type: SkillType) -> Bundle:
    """Return the bundle as scanners read it: its files that evidence can name, its parts, the code within others."""
    sources = {path: SourceFile(path, files[path]) for path in sorted(files) if addressable(path)}
    sources |= {path: SourceFile(path, files[path], program) for path, program in runs_in(sources).items()}
    parts = [Part("", skill_type)]
    for part in parts:  # grows while children are compositions themselves
        if part.skill_type is SkillType.AGENT_COMPOSITION and len(parts) < _MAX_PARTS:
            parts += _children(sources, part)[0]
    ordered = tuple(sorted(parts, key=lambda part: (-len(part.folder), part.folder)))
    bundle = Bundle(sources, ordered)
    return Bundle(sources, ordered, tuple(snippets_of(sources.values(), bundle.part_of)))


def scan(bundle: Bundle, scanners: Sequence[Scanner] = SCANNERS) -> Report:
    """Return the reports of the scanners and of the bundle's own declarations, as one."""
    report = merged(scanner.scan(bundle) for scanner in scanners)
    report = merged([report, tool_findings(bundle, report.tools)])
    findings = list(_declarations(bundle, report))
    for part in bundle.parts:
        if part.skill_type is SkillType.AGENT_COMPOSITION:
            findings += _children(bundle.sources, part)[1]
    report = merged([report, Report(findings=tuple(findings))])
    return replace(report, findings=_with_documented_starts(bundle, report.findings))


def _with_documented_starts(bundle: Bundle, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return the findings; a start file counts low if nothing else is wrong and agents read of it and its undoing."""
    graver = [one for one in findings if one.severity != "low"]
    instructions = " ".join(source.text for source in bundle.sources.values() if is_for_agents(source))
    known = (
        {name for name in _START.findall(instructions) if not name.endswith(".md")}
        if _UNDOING.search(instructions)
        else set()
    )
    if not known or not all(_STARTS.search(one.description) for one in graver):
        return tuple(findings)
    starts = {
        path: set(_START.findall(bundle.sources[path].text)) for path in {_path(one.evidence_ref) for one in graver}
    }
    documented = {path for path, names in starts.items() if names and names <= known}
    return tuple(
        msgspec.structs.replace(one, severity="low") if _path(one.evidence_ref) in documented else one
        for one in findings
    )


def conclude(bundle: Bundle, report: Report, extra: Iterable[Finding] = ()) -> Analysis:
    """Return what follows from a report: risk and verdict of every part, the policy, the lists of an attestation."""
    findings = _unique([*report.findings, *extra])
    by_part: dict[Part, list[Finding]] = {part: [] for part in bundle.parts}
    for finding in findings:
        by_part[bundle.part_of(_path(finding.evidence_ref))].append(finding)
    carried: list[Finding] = []
    risks = {part: _risk(theirs) for part, theirs in by_part.items()}
    for part in bundle.parts[:-1]:  # children before the compositions that they belong to
        parent = next(one for one in bundle.parts if one is not part and part.folder.startswith(one.folder))
        risks[parent] = max(risks[parent], risks[part])
        judged = verdict_of(risks[part])
        if judged != "ALLOW":
            severity: Severity = "high" if judged == "BLOCK" else "medium"
            text = f"Child `{printable(part.name, 80)}` is judged {judged}."
            carried.append(new_finding("transitive_risk", severity, part.place, text, part.folder.rstrip("/")))
    risk = max(risks[bundle.parts[-1]], UNREAD_RISK if report.unread else 0.0)
    dependencies = {(d.package, d.version): d for d in report.dependencies}
    manifest = bundle.sources.get(MANIFEST) if bundle.parts[-1].skill_type is SkillType.MCP_SERVER else None
    return Analysis(
        verdict=verdict_of(risk),
        risk_score=risk,
        findings=_numbered(_unique([*findings, *carried])),
        capabilities=tuple(sorted({use.capability for use in report.uses})),
        dependencies=_fitting(
            [dependencies[key] for key in sorted(dependencies)][: limits.MAX_DEPENDENCIES], _DEPENDENCIES_ROOM
        ),
        rules=_fitting(rules_for(report.uses, findings), _RULES_ROOM),
        manifest_sha256=sha256_hex(manifest.raw) if manifest is not None else None,
    )


def _risk(findings: Sequence[Finding]) -> float:
    """Return the risk of one part's own findings, those about its children among them: a high one is never ALLOW.

    Of the vulnerabilities of one package the gravest counts.
    """
    counted: dict[object, Finding] = {}
    for number, one in enumerate(findings):
        one_of = one.target_pattern if one.category == "dependency_cve" else number
        own = msgspec.structs.replace(one, category="other") if one.category == "transitive_risk" else one
        counted.setdefault(one_of, own)  # the most severe comes first
    return risk_of(counted.values())


def _path(place: str) -> str:
    return parse_evidence_ref(place).path


def _lines(place: str) -> set[tuple[str, int]]:
    ref = parse_evidence_ref(place)
    return {(ref.path, line) for line in range(ref.first or 0, (ref.last or 0) + 1)}


def _canaries(bundle: Bundle, marker: str | None) -> Iterator[Finding]:
    """Yield every line that holds the marker of this dispatch; markers of others are no concern (SPEC 5, 13)."""
    needle = marker.encode() if marker else b""
    for source in bundle.sources.values() if needle else ():
        if needle in source.raw:
            for number, line in enumerate(source.raw.split(b"\n"), start=1):
                if needle in line:
                    text = "The marker of this dispatch is on this line."
                    yield new_finding("canary_match", "low", source.place(number), text, source.path)


# -- declarations: composition.json and manifest.json ------------------------------------------------------------------


def _children(sources: Mapping[str, SourceFile], part: Part) -> tuple[list[Part], list[Finding]]:
    """Return the children that a composition names, and what is wrong with it."""
    source = sources.get(f"{part.folder}{COMPOSITION}")
    if source is None:
        return [], []
    document = read_object(source)
    if document is None:
        return [], [
            new_finding("other", "medium", source.place(), "The composition is not readable JSON.", source.path)
        ]
    children: list[Part] = []
    findings: list[Finding] = []
    entries = objects(document.get("children"))
    line = 1
    for entry in entries[:_MAX_CHILDREN]:
        name, path = string(entry.get("name")), string(entry.get("path")).strip("/")
        line = line_of(source, name, line)
        folder = f"{part.folder}{path}/"
        fault = _child_fault(entry, path, folder, [child.folder for child in children], sources)
        if fault:
            findings.append(new_finding("other", "medium", source.place(line), fault, source.path))
        else:
            children.append(Part(folder, SkillType(entry["skill_type"]), name, source.place(line)))
    if len(entries) > _MAX_CHILDREN:
        text = f"Only the first {_MAX_CHILDREN} of {len(entries)} children are analysed."
        findings.append(new_finding("other", "medium", source.place(), text, source.path))
    flow = document.get("flow")
    edges = [edge for edge in flow if isinstance(edge, list)] if isinstance(flow, list) else []
    known = {string(entry.get("name")) for entry in (document, *entries)}
    for name in sorted({string(end) for edge in edges for end in edge} - known)[:_MAX_CHILDREN]:
        text = f"The flow names `{printable(name, 80)}`, which is no child."
        findings.append(new_finding("other", "low", source.place(line_of(source, name)), text, source.path))
    return children, findings


def _child_fault(
    entry: dict[str, Any], path: str, folder: str, others: list[str], sources: Mapping[str, SourceFile]
) -> str:
    try:
        SkillType(string(entry.get("skill_type")))
        normal = parse_evidence_ref(path).path == path
    except (ValueError, EvidenceRefError):
        return "A child has no known skill type, or no path within the bundle."
    if not normal or not any(name.startswith(folder) for name in sources):
        return "A child's path holds no files."
    if any(folder.startswith(other) or other.startswith(folder) for other in others):
        return "A child shares its folder with another."
    return ""


def _declarations(bundle: Bundle, report: Report) -> Iterator[Finding]:
    """Yield what is wrong with the manifest of each part: another type, powers used in silence or asked for idly.

    Where something severe is known of a part, that a use was not declared says nothing more.
    """
    for part in bundle.parts:
        source = bundle.sources.get(f"{part.folder}manifest.json")
        if source is None:
            continue
        document = read_object(source)
        if document is None:
            yield new_finding("other", "low", source.place(), "The manifest is not a JSON object.", source.path)
            continue
        declared_type = string(document.get("skill_type"))
        if declared_type and declared_type != part.skill_type:
            place = source.place(line_of(source, declared_type))
            yield new_finding(
                "other", "medium", place, f"The manifest says {printable(declared_type, 60)}.", source.path
            )
        names = document.get("capabilities")
        declared = {name for name in names if isinstance(name, str)} if isinstance(names, list) else set()
        uses = [use for use in report.uses if bundle.part_of(_path(use.place)) is part]
        severe = [f for f in report.findings if f.severity in _SEVERE and bundle.part_of(_path(f.evidence_ref)) is part]
        if not is_runtime(part.skill_type):
            for name in sorted(declared & cap.POWERFUL):
                place = source.place(line_of(source, name))
                yield new_finding("excessive_capability", "medium", place, f"A document asks for {name}.", source.path)
        elif string(document.get("entry_point")) and not severe and part.skill_type is not SkillType.AGENT_COMPOSITION:
            first_use = {use.capability: use for use in reversed(uses)}
            for name in sorted((first_use.keys() & cap.POWERFUL) - declared):
                place = first_use[name].place
                yield new_finding(
                    "excessive_capability", "low", place, f"{name} is used but not declared.", source.path
                )


# -- policy ------------------------------------------------------------------------------------------------------------


def rules_for(uses: Iterable[Use], findings: Iterable[Finding]) -> tuple[Rule, ...]:
    """Return the rules, sorted: what the skill uses is allowed by name, everything else is denied.

    Per resource: each pattern in use is allowed, or denied where a finding of high or critical severity is about it;
    `*` is put to review when some use has no pattern, else denied. Variables of the environment are denied where
    secrets are sent away.
    """
    severe = [f for f in findings if f.severity in _SEVERE]
    bad_lines = {line for f in severe for line in _lines(f.evidence_ref)}
    leaking = any(f.category == "secrets_exposure" and f.severity == "critical" for f in severe)
    bad_targets = {name for f in severe for name in (f.target_pattern, host_of(f.target_pattern)) if name}
    patterns: defaultdict[str, dict[str, bool]] = defaultdict(dict)
    open_ended = set()
    for use in uses:
        resource = cap.RESOURCE_OF[use.capability]
        if use.pattern == cap.ANY or cap.pattern_fault(resource, use.pattern):
            open_ended.add(resource)
            continue
        leaked = leaking and resource == "environment"
        bad = leaked or not bad_lines.isdisjoint(_lines(use.place)) or use.pattern in bad_targets
        patterns[resource][use.pattern] = patterns[resource].get(use.pattern, False) or bad
    rules = {
        Rule(resource, "deny" if bad else "allow", pattern)
        for resource, known in patterns.items()
        for pattern, bad in sorted(known.items())[:MAX_PATTERNS]
    }
    rules |= {Rule(resource, "review" if resource in open_ended else "deny", "*") for resource in cap.RESOURCES}
    return tuple(sorted(rules, key=lambda rule: (rule.resource, rule.action, rule.pattern)))


# -- lists of an attestation -------------------------------------------------------------------------------------------


def _unique(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings, the most severe first, one for each (category, evidence, CVEs) and tool."""
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
        target = finding.target_pattern if finding.category in ("tool_poisoning", "other", "transitive_risk") else ""
        unique.setdefault((finding.category, finding.evidence_ref, finding.cve_ids, target), finding)
    return list(unique.values())


def _numbered(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    kept = _fitting(findings[: limits.MAX_FINDINGS], _FINDINGS_ROOM)
    return tuple(msgspec.structs.replace(finding, id=f"f{n}") for n, finding in enumerate(kept, start=1))


def _fitting(documents: Sequence[_D], room: int) -> tuple[_D, ...]:
    """Return the first documents that take at most `room` bytes together."""
    ends = accumulate(len(_text(one).encode(errors="surrogatepass")) + 1 for one in documents)
    return tuple(documents[: sum(end <= room for end in ends)])


def _text(document: object) -> str:
    return json.dumps(msgspec.to_builtins(document), ensure_ascii=False, separators=(",", ":"))
