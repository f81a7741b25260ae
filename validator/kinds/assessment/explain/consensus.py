"""Explanation of consensus: a miner's claims next to its group's, in seven components, missed and extra (SPEC 4)."""

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final, Literal

from validator.kinds.explained.task import Part, TaskFacts
from validator.protocol.results import Submission
from validator.protocol.round import AssessedMember, AssessmentTask
from validator.protocol.sssa import Document
from validator.protocol.text import count
from validator.scoring import Claims, Comparison, FindingKeys, Member, consensus_parts

Side = Literal["shared", "missed", "extra"]
_SIDES: Final[tuple[Side, ...]] = ("missed", "extra", "shared")


class FindingLine(Document, frozen=True):
    """One finding that the miner or the group has.

    Attributes:
        key: canonical key; the next five are what it is made of (SPEC 3).
        side: shared, missed (the group has it, the miner not) or extra (the other way round).
        reported_by: hotkeys, in the order of the group.
    """

    side: Side
    key: str
    category: str
    severity: str
    evidence: str
    cves: str
    target: str
    reported_by: tuple[str, ...]


class Thing(Document, frozen=True):
    """A capability, dependency, CVE or policy rule, in its parts, with who reported it."""

    what: tuple[str, ...]
    reported_by: tuple[str, ...]


class Difference(Document, frozen=True):
    """The miner's set next to the group's: how many are in both, in the miner's, in the group's, and the rest."""

    shared: int
    mine: int
    groups: int
    missed: tuple[Thing, ...]
    extra: tuple[Thing, ...]


class Consensus(Document, frozen=True):
    """The consensus score in its parts, the things it compares next to each other."""

    score: float
    components: tuple[Part, ...]
    verdict: str
    group_verdict: str
    risk_score: float
    mean_risk: float
    findings: tuple[FindingLine, ...]
    capabilities: Difference
    dependencies: Difference
    cves: Difference
    rules: Difference
    agreement_with_primaries: float | None
    agreement_with_auditors: float | None


def explain_consensus(
    facts: TaskFacts[AssessmentTask],
    compared: Comparison,
    outcome: AssessedMember,
    submissions: Sequence[Submission],
) -> Consensus | None:
    """Return the comparison of one member with its group, None where consensus was off (D-3)."""
    own = next((m.claims for m in compared.members if m.hotkey == outcome.hotkey), None)
    group = compared.group
    if own is None or group is None or outcome.components is None:
        return None
    named = _differences(own, group, compared.members)
    whys = _whys(own, group, named)
    return Consensus(
        score=outcome.consensus,
        components=tuple(Part(*part, whys[part.name]) for part in consensus_parts(facts.version, outcome.components)),
        verdict=own.verdict,
        group_verdict=group.verdict,
        risk_score=own.risk,
        mean_risk=group.risk,
        findings=_findings(facts.keys, own, group, compared.members, submissions),
        **named,
        agreement_with_primaries=outcome.agreement_with_primaries,
        agreement_with_auditors=outcome.agreement_with_auditors,
    )


def _differences(own: Claims, group: Claims, members: Sequence[Member]) -> dict[str, Difference]:
    sets: dict[str, Callable[[Claims], AbstractSet[Any]]] = {
        "capabilities": lambda claims: {(one,) for one in claims.capabilities},
        "dependencies": lambda claims: claims.dependencies,
        "cves": lambda claims: claims.cves,
        "rules": lambda claims: claims.rules,
    }
    return {name: _difference(of(own), of(group), members, of) for name, of in sets.items()}


def _difference(
    own: AbstractSet[Any],
    group: AbstractSet[Any],
    members: Sequence[Member],
    of: Callable[[Claims], AbstractSet[Any]],
) -> Difference:
    reported = [(member.hotkey, of(member.claims)) for member in members]

    def things(items: Iterable[Any]) -> tuple[Thing, ...]:
        return tuple(Thing(item, tuple(who for who, theirs in reported if item in theirs)) for item in sorted(items))

    return Difference(len(own & group), len(own), len(group), things(group - own), things(own - group))


def _findings(
    keyed: FindingKeys, own: Claims, group: Claims, members: Sequence[Member], submissions: Sequence[Submission]
) -> tuple[FindingLine, ...]:
    parts = {keyed.key(finding): keyed.parts(finding) for s in submissions for finding in s.sssa.analysis.findings}
    keys = {"missed": group.findings - own.findings, "extra": own.findings - group.findings}
    keys["shared"] = own.findings & group.findings
    return tuple(
        FindingLine(side, key, *parts[key], tuple(m.hotkey for m in members if key in m.claims.findings))
        for side in _SIDES
        for key in sorted(keys[side], key=lambda key: (parts[key], key))
    )


def _whys(own: Claims, group: Claims, named: dict[str, Difference]) -> dict[str, str]:
    shared = len(own.findings & group.findings)
    return {
        "findings_recall": f"{shared} of the group's {count(len(group.findings), 'finding')}",
        "findings_precision": f"{shared} of its own {count(len(own.findings), 'finding')}",
        "verdict_agreement": f"it said {own.verdict}, the group {group.verdict}",
        "capabilities_agreement": _either(named["capabilities"]),
        "risk_agreement": f"risk {own.risk:.4f}, the mean of all is {group.risk:.4f}",
        "dependencies_agreement": (
            f"{_of_groups(named['dependencies'])} packages and {_of_groups(named['cves'])} CVEs of the group's"
        ),
        "policy_agreement": _either(named["rules"]),
    }


def _either(difference: Difference) -> str:
    either = difference.mine + difference.groups - difference.shared
    return f"{difference.shared} shared of {either} named by either" if either else "neither named any"


def _of_groups(difference: Difference) -> str:
    return f"{difference.shared} of {difference.groups}"
