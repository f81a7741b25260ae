"""Agent compositions: each child analysed as the skill it is, its findings and its risk carried up."""

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import msgspec

from miner.analysis.bounds import MAX_CHILDREN, MAX_DEPTH
from miner.analysis.result import Analysis, Report, Use, found
from miner.analysis.source import SourceFile, line_of, objects, read_object, string
from validator.protocol.findings import VERDICTS
from validator.protocol.skill_types import SkillType
from validator.protocol.sssa import EvidenceRefError, Finding, Severity, Verdict, parse_evidence_ref
from validator.protocol.text import printable

FILE_NAME: Final = "composition.json"


class Child(NamedTuple):
    """A child as the composition names it: `path` without slashes at its ends, `line` in composition.json."""

    name: str
    skill_type: SkillType
    path: str
    line: int


class Conclusion(NamedTuple):
    """What a child's analysis gives: the analysis itself and the uses behind its capabilities."""

    analysis: Analysis
    uses: tuple[Use, ...]


class Family(NamedTuple):
    """What all children together add.

    Attributes:
        report: their findings, paths from the composition's root, and a transitive_risk for each that is not ALLOW.
        risk: the greatest of a child.
        verdict: the most severe of a child.
    """

    report: Report
    risk: float
    verdict: Verdict


Analyser = Callable[[dict[str, SourceFile], SkillType], Conclusion]


def children_of(sources: dict[str, SourceFile]) -> tuple[list[Child], list[Finding]]:
    """Return the children that can be analysed, and what is wrong with the composition itself."""
    source = sources.get(FILE_NAME)
    if source is None:
        return [], []
    document = read_object(source)
    if document is None:
        return [], [found("other", "medium", source.place(), "The composition is not readable JSON.", FILE_NAME)]
    children: list[Child] = []
    findings: list[Finding] = []
    line = 1
    entries = objects(document.get("children"))
    for entry in entries[:MAX_CHILDREN]:
        name, path = string(entry.get("name")), string(entry.get("path")).strip("/")
        line = line_of(source, name, line)
        fault = _fault(entry, path, children, sources)
        if fault:
            findings.append(found("other", "medium", source.place(line), fault, FILE_NAME))
        else:
            children.append(Child(name, SkillType(entry["skill_type"]), path, line))
    if len(entries) > MAX_CHILDREN:
        text = f"Only the first {MAX_CHILDREN} of {len(entries)} children are analysed."
        findings.append(found("other", "medium", source.place(), text, FILE_NAME))
    findings += _flow_faults(
        source, document.get("flow"), {string(entry.get("name")) for entry in (document, *entries)}
    )
    return children, findings


def _fault(entry: dict[str, Any], path: str, children: list[Child], sources: dict[str, SourceFile]) -> str:
    try:
        SkillType(string(entry.get("skill_type")))
        normal = parse_evidence_ref(path).path == path
    except (ValueError, EvidenceRefError):
        return "A child has no known skill type, or no path within the bundle."
    if not normal or not any(name.startswith(f"{path}/") for name in sources):
        return "A child's path holds no files."
    if any(f"{path}/".startswith(f"{other.path}/") or f"{other.path}/".startswith(f"{path}/") for other in children):
        return "A child shares its folder with another."
    return ""


def _flow_faults(source: SourceFile, flow: Any, names: set[str]) -> Iterator[Finding]:
    edges = [edge for edge in flow if isinstance(edge, list)] if isinstance(flow, list) else []
    unknown = {string(end) for edge in edges for end in edge} - names
    for name in sorted(unknown)[:MAX_CHILDREN]:
        text = f"The flow names `{printable(name, 80)}`, which is no child."
        yield found("other", "low", source.place(line_of(source, name)), text, FILE_NAME)


def read_children(sources: dict[str, SourceFile], children: list[Child], analyse_child: Analyser, depth: int) -> Family:
    """Return what the children add to the composition.

    Args:
        sources: all files of the composition.
        children: from `children_of`.
        analyse_child: analyses a bundle of its own.
        depth: how many compositions this one stands in; at the bound children are not analysed, which is a finding.
    """
    here = sources[FILE_NAME] if children else None
    findings: list[Finding] = []
    uses: list[Use] = []
    analyses: list[Analysis] = []
    for child in children:
        if here is None or depth >= MAX_DEPTH:
            place = here.place(child.line) if here else ""
            findings.append(found("other", "high", place, "Compositions are nested too deeply to analyse.", FILE_NAME))
            continue
        prefix = f"{child.path}/"
        own = {
            p.removeprefix(prefix): SourceFile(p.removeprefix(prefix), s.content)
            for p, s in sources.items()
            if p.startswith(prefix)
        }
        analysis, child_uses = analyse_child(own, child.skill_type)
        analyses.append(analysis)
        findings += [_carried(finding, prefix, own) for finding in analysis.findings]
        uses += [use._replace(place=_with_prefix(use.place, prefix)) for use in child_uses]
        if analysis.verdict != "ALLOW":
            severity: Severity = "high" if analysis.verdict == "BLOCK" else "medium"
            text = f"Child `{printable(child.name, 80)}` is judged {analysis.verdict}."
            findings.append(found("transitive_risk", severity, here.place(child.line), text, child.path))
    report = Report(
        findings=tuple(findings),
        uses=tuple(uses),
        dependencies=tuple(d for analysis in analyses for d in analysis.dependencies),
        shell_commands=tuple(c for analysis in analyses for c in analysis.shell_commands),
    )
    risk = max((analysis.risk_score for analysis in analyses), default=0.0)
    verdict: Verdict = max((analysis.verdict for analysis in analyses), key=VERDICTS.index, default="ALLOW")
    return Family(report, risk, verdict)


def _carried(finding: Finding, prefix: str, own: dict[str, SourceFile]) -> Finding:
    """Return a child's finding as the composition's: paths from its root."""
    target = finding.target_pattern
    is_path = target in own or any(path.startswith(f"{target}/") for path in own)
    return msgspec.structs.replace(
        finding,
        evidence_ref=_with_prefix(finding.evidence_ref, prefix),
        target_pattern=prefix + target if is_path else target,
    )


def _with_prefix(place: str, prefix: str) -> str:
    span, separator, rest = place.partition("::")
    return f"{span}::{prefix}{rest}" if separator else prefix + place
