"""The truth of a bundle whose faults are all known (SPEC 6; SPEC 16, D-33)."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from validator.planting.shape import Files, Plant
from validator.protocol.canonical import sha256_hex
from validator.protocol.risk import risk_of, verdict_of
from validator.protocol.skill_types import SkillType
from validator.protocol.strict_json import JsonError, decode_plain
from validator.protocol.task import KnownFinding, Truth

_MANIFEST: Final = "mcp.json"
_COMPOSITION: Final = "composition.json"
_MOST_JSON: Final = 256 * 1024
_DEEPEST: Final = 8  # compositions in compositions


def truth_of(files: Files, skill_type: SkillType, faults: Sequence[tuple[str, str, Plant]]) -> Truth:
    """Return the truth of a bundle.

    Risk and verdict follow from the findings by the rule of docs/reference-miner.md, with two differences that follow
    from what was planted: a fault of category transitive_risk counts like any other (it repeats none), and of a
    composition each child's files are judged apart; the greatest risk counts. Policy rules and shell commands are not
    known.

    Args:
        files: of the bundle.
        skill_type: of the bundle.
        faults: kind, evidence and plant of each.
    """
    findings = tuple(
        KnownFinding(one.category, one.severity, place, one.cve_ids, one.target_pattern, kind)
        for kind, place, one in faults
    )
    composed = skill_type is SkillType.AGENT_COMPOSITION
    served = skill_type is SkillType.MCP_SERVER
    risk = _risk(findings, _children(files) if composed else ())
    return Truth(
        verdict=verdict_of(risk),
        policy_rules=None,
        injections=tuple(one.evidence_ref for one in findings if one.category == "prompt_injection"),
        reference_risk=risk,
        shell_commands=None,
        manifest_sha256=sha256_hex(files[_MANIFEST]) if served and _MANIFEST in files else None,
        poisoned_tools=tuple(dict.fromkeys(p.poisoned_tool for _, _, p in faults if p.poisoned_tool))
        if served
        else None,
        transitive_risk=risk if composed else None,
        findings=findings,
    )


def _risk(findings: Sequence[KnownFinding], children: Iterable[str]) -> float:
    """Return the greatest risk of a skill and its children, each with the findings that are in no child of its own."""
    folders = sorted(children, key=len, reverse=True)
    apart: dict[str, list[KnownFinding]] = {}
    for finding in findings:
        folder = next((folder for folder in folders if finding.evidence_ref.startswith(f"{folder}/")), "")
        counted = finding
        if finding.category == "transitive_risk":
            counted = msgspec.structs.replace(finding, category="other")
        apart.setdefault(folder, []).append(counted)
    return max(map(risk_of, apart.values()), default=0.0)


def _children(files: Files, within: str = "", depth: int = 0) -> list[str]:
    """Return the folders of a composition's children and of theirs."""
    try:
        document: Any = decode_plain(files.get(within + _COMPOSITION, b"{}"), limit=_MOST_JSON)
    except JsonError:
        return []
    entries = document.get("children") if isinstance(document, dict) else None
    found: list[str] = []
    for entry in entries if isinstance(entries, list) else ():
        path = entry.get("path") if isinstance(entry, dict) else None
        if not isinstance(path, str) or not path.strip("/"):
            continue
        folder = within + path.strip("/")
        found.append(folder)
        if depth < _DEEPEST and entry.get("skill_type") == SkillType.AGENT_COMPOSITION:
            found += _children(files, f"{folder}/", depth + 1)
    return found
