"""Recall of an analysis on planted faults, by category and language. Pure."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from sssa.protocol.findings import match_faults
from sssa.protocol.skill_types import SkillType
from sssa.protocol.sssa import EvidenceRefError, Finding, parse_evidence_ref
from sssa.protocol.task import KnownFinding

Files = Mapping[str, bytes]
Analyser = Callable[[Files, SkillType], Sequence[Finding]]

_LANGUAGES: Final = {
    ".py": "Python",
    ".js": "JavaScript",
    ".mjs": "JavaScript",
    ".cjs": "JavaScript",
    ".jsx": "JavaScript",
    ".ts": "TypeScript",
    ".mts": "TypeScript",
    ".cts": "TypeScript",
    ".tsx": "TypeScript",
    ".sh": "shell",
    ".bash": "shell",
    ".json": "JSON",
    ".jsonl": "JSON",
    ".toml": "TOML",
    ".yaml": "YAML",
    ".yml": "YAML",
    ".md": "text",
    ".txt": "text",
    ".rst": "text",
}


class Seen(NamedTuple):
    """A planted fault, and whether it was found."""

    fault: KnownFinding
    language: str
    hits: bool


class Unplanted(NamedTuple):
    """A finding that names no planted fault; `before` says that the bundle has it without faults as well."""

    finding: Finding
    language: str
    before: bool


@dataclass
class Measured:
    """Counts over any number of bundles.

    Attributes:
        named: category and language of the findings that name a planted fault; two may name one.
        follow: findings that a child of a composition is judged, in which a fault was planted: true, and no fault of
            their own. They count neither way.
    """

    seen: list[Seen] = field(default_factory=list)
    unplanted_findings: list[Unplanted] = field(default_factory=list)
    named: list[tuple[str, str]] = field(default_factory=list)
    follow: list[Finding] = field(default_factory=list)

    def take(self, files: Files, base: Files, kind: SkillType, faults: Sequence[KnownFinding], by: Analyser) -> None:
        """Let an analyser look at a bundle with these faults, and at the one that they were planted in."""
        before = _marks(by(base, kind), base)
        reported: list[Finding] = []
        for finding in by(files, kind):
            if _mark(finding, files) in before:  # it is not about the fault next to it
                self.unplanted_findings.append(Unplanted(finding, language(finding.evidence_ref, files), before=True))
            else:
                reported.append(finding)
        matches = match_faults(faults, reported)
        for fault, index in zip(faults, matches.by, strict=True):
            self.seen.append(Seen(fault, language(fault.evidence_ref, files), index is not None))
        unplanted = set(matches.unplanted)
        for index, finding in enumerate(reported):
            if index not in unplanted:
                self.named.append((finding.category, language(finding.evidence_ref, files)))
            elif _follows(finding, faults):
                self.follow.append(finding)
            else:
                self.unplanted_findings.append(Unplanted(finding, language(finding.evidence_ref, files), before=False))


class Row(NamedTuple):
    """One line of a table; `false` names nothing planted, `before` of it stood in the bundle before."""

    name: str
    planted: int
    hits: int
    named: int
    false: int
    before: int

    @property
    def recall(self) -> float | None:
        """Share of the planted faults that were found."""
        return self.hits / self.planted if self.planted else None

    @property
    def precision(self) -> float | None:
        """Share of the findings that name a fault; findings that the bundle has without faults are left out."""
        reported = self.named + self.false - self.before
        return self.named / reported if reported else None


def rows(measured: Measured, by: str) -> list[Row]:
    """Return a line for each `category` or `language`, and one for all."""
    planted = Counter(_name(one.fault.category, one.language, by) for one in measured.seen)
    hits = Counter(_name(one.fault.category, one.language, by) for one in measured.seen if one.hits)
    named = Counter(_name(category, lang, by) for category, lang in measured.named)
    false = Counter(_name(one.finding.category, one.language, by) for one in measured.unplanted_findings)
    before = Counter(_name(one.finding.category, one.language, by) for one in measured.unplanted_findings if one.before)
    names = sorted(planted.keys() | named.keys() | false.keys())
    lines = [Row(name, planted[name], hits[name], named[name], false[name], before[name]) for name in names]
    return [*lines, Row("all", *(sum(column) for column in list(zip(*lines, strict=True))[1:]))] if lines else []


def language(evidence: str, files: Files) -> str:
    """Return what the file of some evidence is written in."""
    try:
        path = parse_evidence_ref(evidence).path
    except EvidenceRefError:
        return "other"
    suffix = PurePosixPath(path).suffix.lower()
    if suffix in _LANGUAGES:
        return _LANGUAGES[suffix]
    first = files.get(path, b"")[:64].partition(b"\n")[0]
    return "shell" if first.startswith(b"#!") and b"sh" in first else "other"


def _name(category: str, lang: str, by: str) -> str:
    return category if by == "category" else lang


def _follows(finding: Finding, faults: Iterable[KnownFinding]) -> bool:
    child = finding.target_pattern
    return finding.category == "transitive_risk" and any(one.evidence_ref.startswith(f"{child}/") for one in faults)


def _marks(findings: Iterable[Finding], files: Files) -> set[tuple[str, str, bytes]]:
    return {_mark(finding, files) for finding in findings}


def _mark(finding: Finding, files: Files) -> tuple[str, str, bytes]:
    """Return the line-independent identity of a finding: its category, its file, the line that it names."""
    try:
        place = parse_evidence_ref(finding.evidence_ref)
    except EvidenceRefError:
        return finding.category, finding.evidence_ref, b""
    lines = files.get(place.path, b"").splitlines()
    line = lines[place.first - 1].strip() if place.first is not None and place.first <= len(lines) else b""
    return finding.category, place.path, line
