"""The interface of a scanner, and the report of findings that all scanners fill."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from miner.scanners.source import SourceFile
from sssa.protocol.limits import MAX_DESCRIPTION, MAX_STRING
from sssa.protocol.skill_types import SkillType
from sssa.protocol.sssa import Category, Dependency, Finding, Severity


class Part(NamedTuple):
    """A skill within the bundle: the bundle itself, or a child of a composition.

    Attributes:
        folder: empty for the bundle itself, else the child's folder with a slash at its end.
        place: where the composition names it; empty for the bundle itself.
    """

    folder: str
    skill_type: SkillType
    name: str = ""
    place: str = ""


class Target(NamedTuple):
    """Text that is read as code: a file, or a command of package.json, a block of a document, a hook of an agent.

    Attributes:
        language: `bash`, `python`, `javascript`, `typescript`, or `regex` for rules of text.
        offset: lines of the file before it.
        trusted: whether a reader decides to run it: a finding in it counts low.
        runs: whether it runs when the skill is installed or used, so that its uses are the bundle's.
    """

    source: SourceFile
    language: str
    content: bytes
    offset: int = 0
    trusted: bool = False
    runs: bool = True


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle as scanners read it.

    Attributes:
        sources: the files that evidence can name, by path.
        parts: the bundle itself and the children of its compositions, the longest folder first.
        snippets: code within files of another kind.
    """

    sources: Mapping[str, SourceFile]
    parts: tuple[Part, ...]
    snippets: tuple[Target, ...] = ()

    def part_of(self, path: str) -> Part:
        """Return the part that the file belongs to."""
        return next(part for part in self.parts if path.startswith(part.folder))


class Use(NamedTuple):
    """A capability that the bundle makes use of.

    Attributes:
        pattern: the host, path, command or variable that is meant; empty when the source does not spell it out.
    """

    capability: str
    place: str
    pattern: str = ""


class Tool(NamedTuple):
    """A tool that a model is offered, as a file declares it.

    Attributes:
        name: as offered; empty if the source does not spell it out.
        texts: the descriptions of the tool and its parameters.
    """

    source: SourceFile
    name: str
    texts: tuple[str, ...]
    line: int
    text_line: int


@dataclass(frozen=True, slots=True)
class Report:
    """The result of one scanner, or of several together.

    Attributes:
        findings: without ids yet.
        uses: of capabilities.
        commands: simple commands of the scripts as the source spells them, in order.
        unread: whether something in the bundle was not read: then a person has to.
    """

    findings: tuple[Finding, ...] = ()
    uses: tuple[Use, ...] = ()
    dependencies: tuple[Dependency, ...] = ()
    commands: tuple[str, ...] = ()
    tools: tuple[Tool, ...] = ()
    unread: bool = False


class Scanner(Protocol):
    """A tool that reads a bundle. Nothing of the bundle is run, no host is asked."""

    def scan(self, bundle: Bundle) -> Report:
        """Return the findings and uses, each with its place."""


def merged(reports: Iterable[Report]) -> Report:
    """Return the reports as one, in their order."""
    parts = list(reports)
    return Report(
        findings=tuple(one for part in parts for one in part.findings),
        uses=tuple(one for part in parts for one in part.uses),
        dependencies=tuple(one for part in parts for one in part.dependencies),
        commands=tuple(one for part in parts for one in part.commands),
        tools=tuple(one for part in parts for one in part.tools),
        unread=any(part.unread for part in parts),
    )


def new_finding(category: Category, severity: Severity, place: str, description: str, target: str) -> Finding:
    """Return a finding without an id and CVEs yet, its texts cut to the limits of SPEC 5."""
    return Finding(
        id="",
        category=category,
        severity=severity,
        description=description[:MAX_DESCRIPTION],
        evidence_ref=place,
        cve_ids=(),
        target_pattern=target[:MAX_STRING],
    )
