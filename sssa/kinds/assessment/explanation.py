"""Explanation of one assessment: each number of a miner's answer with the numbers behind it (SPEC 3 to 8, 16)."""

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final, Literal

from sssa.kinds.assessment.gates import applying_gates
from sssa.kinds.task_explanation import Part, TaskExplanation, TaskFacts, explain_task
from sssa.protocol.answer import Role
from sssa.protocol.findings import match_faults
from sssa.protocol.reasons import Reason
from sssa.protocol.results import Submission
from sssa.protocol.round import AssessedMember, AssessmentTask, Emission, MemberOutcome, RoundInput
from sssa.protocol.skill_types import SkillType
from sssa.protocol.sssa import Category, Document, Finding, Severity
from sssa.protocol.task import Truth
from sssa.protocol.text import count, plain
from sssa.scoring import (
    AnswerFacts,
    Claims,
    Comparison,
    FindingKeys,
    Member,
    Rules,
    Version,
    answer_facts,
    axis_sets,
    compare_answers,
    consensus_parts,
    evidence_parts,
)

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
        "verdict_agreement": f"its verdict is {own.verdict}, the group's {group.verdict}",
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


_UNKNOWN: Final = "does not apply: the task says nothing of it"
_THINGS: Final = {
    "pi": "expected policy rules",
    "rho": "known injections",
    "sigma": "expected commands",
    "tau": "poisoned tools",
}
_CHECKS: Final = {
    "probes": ("probe values verified", "probe values wrong"),
    "traces": ("trace hashes consistent", "trace hashes wrong"),
    "manifest_digest": ("sandbox digest is the round's image", "sandbox digest is another image's"),
    "evidence_resolves": ("every finding points into the bundle", "a finding points at nothing in the bundle"),
    "canary": ("canary reported at its line", "canary not reported at its line"),
}


class Axis(Document, frozen=True):
    """One axis.

    Attributes:
        value: in [0, 1]; None where it does not apply, then its weight does not count either.
        missed, extra: what the truth asks for and the miner did not name, and the other way round, where sets are
            compared.
    """

    name: str
    weight: float
    value: float | None
    why: str
    missed: tuple[tuple[str, ...], ...] = ()
    extra: tuple[tuple[str, ...], ...] = ()

    @property
    def contribution(self) -> float | None:
        """Weight times value; None where the axis does not apply."""
        return None if self.value is None else self.weight * self.value


class EvidenceLine(Document, frozen=True):
    """One check that applies: `held` of its `weight` counts."""

    name: str
    weight: float
    held: float
    why: str


class Quality(Document, frozen=True):
    """Q and its parts; `weight_sum` is over the axes that apply.

    Attributes:
        verdict, truth: the miner's, and the one it was scored against.
        provenance: where that comes from: `consensus` is the group's own verdict (D-7).
    """

    quality: float
    verdict: str
    truth: str
    provenance: str
    axes: tuple[Axis, ...]
    weight_sum: float
    epsilon: float
    epsilon_parts: tuple[EvidenceLine, ...]
    below_floor: bool


def explain_quality(version: Version, facts: AnswerFacts, emission: Emission) -> Quality:
    """Return the parts of `emission.quality`; `facts` are those it was computed from."""
    weights = version.rules.types[facts.skill_type].axes
    weight_sum = 0.0
    for name, weight in weights:
        weight_sum += weight if name in emission.axes else 0.0
    return Quality(
        quality=emission.quality,
        verdict=facts.verdict,
        truth=facts.truth.verdict,
        provenance=facts.provenance,
        axes=tuple(_axis(version, name, weight, facts, emission.axes.get(name)) for name, weight in weights),
        weight_sum=weight_sum,
        epsilon=emission.epsilon,
        epsilon_parts=tuple(
            EvidenceLine(part.name, part.weight, part.held, _evidence_why(part.name, part.holds, facts))
            for part in evidence_parts(version, facts.checks, facts.semantic_subset)
        ),
        below_floor=emission.epsilon < version.rules.quality.floor,
    )


def _axis(version: Version, name: str, weight: float, facts: AnswerFacts, value: float | None) -> Axis:
    if value is None:
        return Axis(name, weight, None, "does not apply to auditors" if name == "sigma" else _UNKNOWN)
    sets = axis_sets(name, facts)
    if sets is None:
        return Axis(name, weight, value, _why(version, name, facts))
    why = f"{len(sets.mine & sets.expected)} of {len(sets.expected)} {_THINGS[name]}, {len(sets.mine)} named"
    return Axis(name, weight, value, why, _parts(sets.expected - sets.mine), _parts(sets.mine - sets.expected))


def _parts(items: Iterable[str | tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    return tuple(sorted((item,) if isinstance(item, str) else item for item in items))


def _why(version: Version, name: str, facts: AnswerFacts) -> str:
    truth = facts.truth
    match name:
        case "alpha":
            factor = version.rules.quality.provenance[facts.provenance]
            counts = f"{facts.provenance} truth counts {plain(factor)}"
            return f"its verdict is {facts.verdict}, right is {truth.verdict}; {counts}"
        case "eta":
            return f"the answer came at f = {facts.part:.4f} of its window"
        case "mu":
            return f"risk {facts.risk_score:.4f}, reference {_risk(truth.reference_risk)}"
        case "psi":
            right = facts.manifest_sha256 == truth.manifest_sha256
            return "the manifest's hash is right" if right else "the manifest's hash is missing or wrong"
        case _:
            return f"risk {facts.risk_score:.4f}, transitive risk {_risk(truth.transitive_risk)}"


def _risk(risk: float | None) -> str:
    return "unknown" if risk is None else f"{risk:.4f}"


def _evidence_why(name: str, holds: bool, facts: AnswerFacts) -> str:
    why = _CHECKS[name][0 if holds else 1]
    if name == "traces" and holds and facts.semantic_subset is not None:
        return f"{why}; they cover {facts.semantic_subset:.4f} of what the group's show (gate 7)"
    return why


class Factor(Document, frozen=True):
    """One factor of the product."""

    name: str
    value: float
    why: str


class Product(Document, frozen=True):
    """The product of the factors, from left to right; 0 for an answer before t_min (`early`)."""

    factors: tuple[Factor, ...]
    early: bool
    emission: float


def explain_emission(version: Version, facts: AnswerFacts, emission: Emission) -> Product:
    """Return the factors that made `emission`; `facts` are those it was computed from."""
    rules, f = version.rules, facts.part
    factors = (
        Factor("Q", emission.quality, "quality, as above"),
        Factor("base_weight", emission.base_weight, f"of {facts.skill_type}"),
        Factor("tier", emission.tier, _tier(rules, facts.skill_type, emission)),
        Factor("early_bonus", emission.early_bonus, _early(rules, f)),
        Factor("role", emission.role, facts.role),
        Factor("consensus", emission.consensus, "as above" if emission.consensus < 1 else "full, or consensus was off"),
        Factor("bootstrap", emission.bootstrap, _bootstrap(rules, facts)),
    )
    return Product(factors, f < 0.0, emission.emission)


def _tier(rules: Rules, skill_type: SkillType, emission: Emission) -> str:
    baseline = rules.types[skill_type].baseline
    steps = [(step.bound * baseline, step.factor) for step in rules.emission.tiers]
    above = [f"{bound:.4f}" for bound, factor in steps if factor < emission.tier]
    below = [f"{bound:.4f}" for bound, factor in steps if factor >= emission.tier]
    bounds = f"{f'{above[-1]} ≤ ' if above else ''}Q{f' < {below[0]}' if below else ''}"
    return f"{bounds}; the type's baseline is {plain(baseline)}"


def _early(rules: Rules, f: float) -> str:
    bounds = [step.bound for step in rules.emission.early_bonuses]
    bound = next((bound for bound in bounds if f <= bound), None)
    return f"f = {f:.4f} > {bounds[-1]}" if bound is None else f"f = {f:.4f} ≤ {bound}"


def _bootstrap(rules: Rules, facts: AnswerFacts) -> str:
    if not rules.types[facts.skill_type].bootstrapped:
        return "not for this type"
    last = rules.emission.bootstrap_epochs
    return f"epoch {facts.epoch} {'≤' if facts.epoch <= last else '>'} {last}"


class KnownFault(Document, frozen=True):
    """One fault of the truth.

    Attributes:
        kind: `family/shape` of a planted one.
        found_at: the evidence that the miner named for it; None where it reported none.
    """

    kind: str
    category: Category
    severity: Severity
    evidence_ref: str
    cve_ids: tuple[str, ...]
    reported_at: str | None


class KnownFaults(Document, frozen=True):
    """Faults of the truth that a miner found.

    Attributes:
        faults: in the order of the truth; `matched` of them it reported.
        unmatched: findings of the miner that name none of them.
    """

    faults: tuple[KnownFault, ...]
    matched: int
    unmatched: int


def explain_faults(truth: Truth | None, reported: tuple[Finding, ...]) -> KnownFaults | None:
    """Return the faults of the truth and which of them the findings name; None where the truth lists no faults."""
    known = truth.findings if truth is not None else None
    if not isinstance(known, tuple):
        return None
    named = match_faults(known, reported)
    return KnownFaults(
        tuple(
            KnownFault(
                fault.kind,
                fault.category,
                fault.severity,
                fault.evidence_ref,
                fault.cve_ids,
                None if by is None else reported[by].evidence_ref,
            )
            for fault, by in zip(known, named.by, strict=True)
        ),
        matched=sum(by is not None for by in named.by),
        unmatched=len(named.unplanted),
    )


class MemberLine(Document, frozen=True):
    """One member of the group; verdict, risk and consensus only of answers that passed the gates."""

    hotkey: str
    uid: int | None
    role: Role
    reason: Reason | None
    verdict: str | None
    risk_score: float | None
    consensus: float | None
    entry: float | None


class AssessmentExplanation(TaskExplanation, frozen=True, tag="assessment"):
    """An assessment as one miner met it.

    Attributes:
        members: of the group; none of a void or skipped task.
        consensus: None where consensus was off, or its answer failed a gate.
        quality, emission: None where its answer failed a gate, or there is no verdict to score against (D-7).
        faults: what it found of the faults that the bundle is known to have; None where its answer failed a gate, or
            the truth does not name them (SPEC 16, D-33).
    """

    bundle_sha256: str
    provenance: str
    members: tuple[MemberLine, ...]
    consensus: Consensus | None
    quality: Quality | None
    emission: Product | None
    faults: KnownFaults | None


def explain_assessment(
    frozen: RoundInput, facts: TaskFacts[AssessmentTask], hotkey: str
) -> AssessmentExplanation | None:
    """Return the task as `hotkey` met it, None if it was no candidate."""
    task = facts.task
    submissions = facts.results.answers(task.task_id, Submission)
    own = next((s for s in submissions if s.hotkey == hotkey), None)
    common = explain_task(frozen, facts, hotkey, applying_gates, own.semantic_subset if own else None)
    if common is None:
        return None
    scored = facts.member(hotkey)
    compared = compare_answers(facts.version, task, facts.planned.group, submissions, facts.keys)
    answer = None
    if own is not None and scored is not None and compared.standard is not None:
        answer = answer_facts(own, scored.consensus, compared.standard, task, frozen.snapshot.epoch)
    assessed = scored if isinstance(scored, AssessedMember) else None
    reward = assessed.emission if assessed else None
    return AssessmentExplanation(
        **common,
        bundle_sha256=task.bundle_sha256,
        provenance=task.provenance,
        members=_members(frozen, facts) if facts.state == "settled" else (),
        consensus=explain_consensus(facts, compared, assessed, submissions) if assessed else None,
        quality=explain_quality(facts.version, answer, reward) if answer and reward else None,
        emission=explain_emission(facts.version, answer, reward) if answer and reward else None,
        faults=explain_faults(task.truth, own.sssa.analysis.findings) if own else None,
    )


def _members(frozen: RoundInput, facts: TaskFacts[AssessmentTask]) -> tuple[MemberLine, ...]:
    uids = {neuron.hotkey: neuron.uid for neuron in frozen.snapshot.neurons}
    analyses = {s.hotkey: s.sssa.analysis for s in facts.results.answers(facts.task.task_id, Submission)}
    return tuple(
        MemberLine(
            hotkey=member.hotkey,
            uid=uids.get(member.hotkey),
            role=member.role,
            reason=member.reason,
            verdict=analyses[member.hotkey].verdict if member.hotkey in analyses else None,
            risk_score=analyses[member.hotkey].risk_score if member.hotkey in analyses else None,
            consensus=member.consensus if _compared(member) else None,
            entry=member.window_entry,
        )
        for member in facts.members
    )


def _compared(member: MemberOutcome) -> bool:
    return isinstance(member, AssessedMember) and member.components is not None
