"""The result of an analysis, and the partial reports it is made of."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from validator.protocol.limits import MAX_DESCRIPTION, MAX_STRING
from validator.protocol.sssa import Category, Dependency, Finding, Rule, Severity, Verdict

UNREAD_RISK: Final = 0.35  # at least, of a bundle with code that no analyser reads
BEYOND: Final = "More than is read of one bundle: what is left can hide anything."


@dataclass(frozen=True, slots=True)
class Analysis:
    """The conclusion about one bundle: what goes into an SSSA's `analysis`, `policy` and `evidence` (SPEC 2).

    Attributes:
        verdict: ALLOW, REVIEW or BLOCK.
        risk_score: in [0, 1], four decimals.
        findings: at most 512, the most severe first, ids f1, f2, ...
        capabilities: sorted names (see `capabilities.py`).
        dependencies: pinned packages, sorted, with the CVEs that are known for them.
        rules: the recommended policy, sorted.
        manifest_sha256: of mcp.json's bytes; None for every other skill type.
        shell_commands: simple commands of the scripts as execution tracing would show them, in order of appearance.
    """

    verdict: Verdict
    risk_score: float
    findings: tuple[Finding, ...]
    capabilities: tuple[str, ...]
    dependencies: tuple[Dependency, ...]
    rules: tuple[Rule, ...]
    manifest_sha256: str | None
    shell_commands: tuple[str, ...]


class Use(NamedTuple):
    """A capability that the bundle makes use of.

    Attributes:
        capability: its name.
        place: evidence of it.
        pattern: the host, path, command or variable that is meant; empty when the analysis cannot tell.
    """

    capability: str
    place: str
    pattern: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """What one sub-analyser has to say.

    Attributes:
        unread: whether there is code, or a document, that no analyser reads: then a person has to.
    """

    findings: tuple[Finding, ...] = ()
    uses: tuple[Use, ...] = ()
    dependencies: tuple[Dependency, ...] = ()
    shell_commands: tuple[str, ...] = ()
    unread: bool = False

    @property
    def capabilities(self) -> frozenset[str]:
        """The names of all capabilities in use."""
        return frozenset(use.capability for use in self.uses)


def merged(reports: Iterable[Report]) -> Report:
    """Return the reports as one, in their order."""
    parts = list(reports)
    return Report(
        findings=tuple(f for part in parts for f in part.findings),
        uses=tuple(u for part in parts for u in part.uses),
        dependencies=tuple(d for part in parts for d in part.dependencies),
        shell_commands=tuple(c for part in parts for c in part.shell_commands),
        unread=any(part.unread for part in parts),
    )


def found(
    category: Category,
    severity: Severity,
    place: str,
    description: str,
    target: str,
) -> Finding:
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
