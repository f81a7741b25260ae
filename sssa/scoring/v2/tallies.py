"""One task's answers: the reference each is compared with, its entry, and its score in a planted task (D-37, D-38)."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import Any, NamedTuple

from sssa.protocol.findings import match_faults
from sssa.protocol.round import ReputationKind
from sssa.protocol.sssa import Finding, Rule, Sssa, Verdict
from sssa.protocol.tallies import NO_RECORD, Record, Tally
from sssa.protocol.task import KnownFinding, Truth
from sssa.scoring.scoring_types import Claims
from sssa.scoring.v1.claims import VERDICTS_BY_SEVERITY, claims_of
from sssa.scoring.v1.keys import FindingKeys
from sssa.scoring.v2.rules import Ruled20, TallyRules


class TalliedAnswer(NamedTuple):
    """Input of a member's tally.

    Attributes:
        sssa: None where a gate failed.
        early: it came before t_min.
        epsilon: its evidence factor; None where a gate failed.
        record, curated: the member's, frozen.
    """

    hotkey: str
    sssa: Sssa | None
    early: bool
    epsilon: float | None
    record: Record
    curated: Record = NO_RECORD


class MemberTally(NamedTuple):
    """Tally of one answer.

    Attributes:
        weight: of the answer in what others are compared with; None unless valid.
        tally: its entry; None where there is no reference.
        answer_score: of a planted task.
        curated_score: of a curated task that is first.
        event: of a planted task, for a valid member.
    """

    hotkey: str
    weight: float | None
    tally: Tally | None
    answer_score: float | None
    curated_score: float | None
    event: ReputationKind | None


class _Reference(NamedTuple):
    """Values that one answer is compared with; a part without a source is None."""

    verdict: Verdict | None
    risk: float | None
    findings: frozenset[str] | None
    capabilities: frozenset[str] | None
    dependencies: frozenset[tuple[str, str]] | None
    rules: frozenset[tuple[str, str, str]] | None


class _Named(NamedTuple):
    """Findings of an answer next to those of the reference."""

    hits: int
    said: int
    known: int


def tally_task(  # noqa: PLR0913 - a group, and what it is compared with
    version: Ruled20,
    members: Sequence[TalliedAnswer],
    truth: Truth | None,
    *,
    made_here: bool,
    first: bool = False,
    keys: FindingKeys | None = None,
    compared: Mapping[str, Claims] = MappingProxyType({}),
) -> tuple[MemberTally, ...]:
    """Return the tally of every answer to a task, in the order given.

    Args:
        version: the round's.
        members: of the group, without void dispatches.
        truth: of the task.
        made_here: the task was made here for the round.
        first: no task that was frozen before has its source bundle (D-49).
        keys: of the round's findings.
        compared: claims by hotkey, as far as the consensus made them.
    """
    rules, keys = version.rules.tallies, keys or FindingKeys()
    claims = {one.hotkey: _claims(one.sssa, compared.get(one.hotkey), keys) for one in members if one.sssa is not None}
    voices = Counter(_voice(one) for one in claims.values())
    weights = {
        one.hotkey: _weight(rules, one) / voices[_voice(claims[one.hotkey])] for one in members if one.hotkey in claims
    }
    faults = None if truth is None else _faults(truth)
    tallied = []
    for one in members:
        others = [(claims[hotkey], weights[hotkey]) for hotkey in claims if hotkey != one.hotkey]
        reference = _reference(truth, faults, others if len(others) >= rules.others else None)
        named = None if one.sssa is None else _named(one.sssa, claims[one.hotkey], faults, reference, keys)
        tally = _tally(version, one, claims.get(one.hotkey), reference, named, faults)
        score = None if faults is None else _answer_score(rules, one.sssa, named, truth)
        planted = score if made_here else None
        tallied.append(
            MemberTally(
                hotkey=one.hotkey,
                weight=weights.get(one.hotkey),
                tally=tally,
                answer_score=planted,
                curated_score=score if first and not made_here else None,
                event=None if planted is None or one.sssa is None else event_of_score(version, planted),
            )
        )
    return tuple(tallied)


def event_of_score(version: Ruled20, score: float) -> ReputationKind | None:
    """Return the event of a valid answer to a planted task."""
    rules = version.rules.reputation
    if score >= rules.high:
        return "truth_high"
    return "truth_low" if score < rules.low else None


def _faults(truth: Truth) -> tuple[KnownFinding, ...] | None:
    return truth.findings if isinstance(truth.findings, tuple) else None


def _claims(sssa: Sssa, compared: Claims | None, keys: FindingKeys) -> Claims:
    claims, reported = compared or claims_of(sssa, keys), _reported(sssa)
    if len(reported) == len(sssa.analysis.findings):
        return claims
    return claims._replace(findings=frozenset(keys.key(one) for one in reported))


def _reported(sssa: Sssa) -> list[Finding]:
    """Return the findings without those of a marker, which epsilon judges."""
    return [one for one in sssa.analysis.findings if one.category != "canary_match"]


def _voice(claims: Claims) -> tuple[Verdict, frozenset[str]]:
    """Return the key under which equal answers are one voice (D-37)."""
    return claims.verdict, claims.findings


def record_mean(rules: TallyRules, record: Record) -> float:
    """Return y, the mean answer score of a record, leaning on one half (D-37)."""
    return (rules.prior_score + record.score) / (rules.prior_answers + record.answers)


def with_curated(y: float, weight: int, curated: Record) -> float:
    """Return y, as so many answers, with those of a curated record (D-37, D-41)."""
    return (weight * y + curated.score) / (weight + curated.answers)


def _weight(rules: TallyRules, one: TalliedAnswer) -> float:
    """Return max(least, b·b) of a member's records."""
    y = record_mean(rules, one.record)
    b = min(y, with_curated(y, rules.curated_weight, one.curated))
    return max(rules.least_weight, b * b)


def _reference(
    truth: Truth | None, faults: Sequence[KnownFinding] | None, others: Sequence[tuple[Claims, float]] | None
) -> _Reference:
    """Return the reference of an answer: the truth where it has the part, else the others (D-37)."""
    verdict, risk, rules = _truth_parts(truth)
    if others is None:
        return _Reference(verdict, risk, None, None, None, rules)
    return _Reference(
        verdict=verdict or _heaviest([(one.verdict, weight) for one, weight in others]),
        risk=risk if risk is not None else _mean_risk(others),
        findings=_weighted_majority([(one.findings, weight) for one, weight in others]) if faults is None else None,
        capabilities=_weighted_majority([(one.capabilities, weight) for one, weight in others]),
        dependencies=_weighted_majority([(one.dependencies, weight) for one, weight in others]),
        rules=rules if rules is not None else _weighted_majority([(one.rules, weight) for one, weight in others]),
    )


def _truth_parts(truth: Truth | None) -> tuple[Verdict | None, float | None, frozenset[Any] | None]:
    """Return verdict, risk and rules of a truth, each None where it does not say."""
    if truth is None:
        return None, None, None
    risk = truth.transitive_risk if truth.reference_risk is None else truth.reference_risk
    return truth.verdict, risk, None if truth.policy_rules is None else _rules(truth.policy_rules)


def _rules(rules: Iterable[Rule]) -> frozenset[tuple[str, str, str]]:
    return frozenset((one.resource, one.action, one.pattern) for one in rules)


def _heaviest(votes: Sequence[tuple[Verdict, float]]) -> Verdict:
    """Return the verdict of the largest weight; a tie goes to the more severe."""
    weights = {verdict: math.fsum(w for vote, w in votes if vote == verdict) for verdict in VERDICTS_BY_SEVERITY}
    return max(VERDICTS_BY_SEVERITY, key=weights.__getitem__)  # the first of equals, BLOCK before ALLOW


def _mean_risk(others: Sequence[tuple[Claims, float]]) -> float:
    return math.fsum(weight * one.risk for one, weight in others) / math.fsum(weight for _, weight in others)


def _weighted_majority(sets: Sequence[tuple[frozenset[Any], float]]) -> frozenset[Any]:
    """Return the things whose reporters have more than half of the weight."""
    reporters: dict[Any, list[float]] = {}
    for one, weight in sets:
        for thing in one:
            reporters.setdefault(thing, []).append(weight)
    whole = math.fsum(weight for _, weight in sets)
    return frozenset(thing for thing, weights in reporters.items() if 2 * math.fsum(weights) > whole)


def _named(
    sssa: Sssa,
    claims: Claims,
    faults: Sequence[KnownFinding] | None,
    reference: _Reference,
    keys: FindingKeys,
) -> _Named | None:
    """Return how an answer's findings compare; None without a reference for them."""
    if faults is not None:
        reported = _reported(sssa)
        matched = match_faults(faults, reported)
        hits = sum(by is not None for by in matched.by)
        false = {keys.key(reported[i]) for i in matched.unplanted}
        return _Named(hits, hits + len(false), len(faults))
    if reference.findings is None:
        return None
    return _Named(len(claims.findings & reference.findings), len(claims.findings), len(reference.findings))


def _tally(  # noqa: PLR0913, PLR0917 - an answer and all that it is compared with
    version: Ruled20,
    one: TalliedAnswer,
    claims: Claims | None,
    reference: _Reference,
    named: _Named | None,
    faults: Sequence[KnownFinding] | None,
) -> Tally | None:
    """Return the entry; None without a reference for verdict or findings (D-38)."""
    known = len(faults) if faults is not None else None if reference.findings is None else len(reference.findings)
    if reference.verdict is None and known is None:
        return None
    floor = version.rules.quality.floor
    ok = claims is not None and not one.early and one.epsilon is not None and one.epsilon >= floor
    mine = claims if ok else None
    risk = None
    if reference.risk is not None:
        risk = 0.0 if mine is None else max(0.0, 1.0 - abs(mine.risk - reference.risk))
    return Tally(
        ok=ok,
        hits=None if known is None else named.hits if ok and named else 0,
        said=None if known is None else named.said if ok and named else 0,
        known=known,
        verdict=mine.verdict if mine else None,
        reference=reference.verdict,
        risk=risk,
        risk_null=None if reference.risk is None else 1.0 - abs(reference.risk - version.rules.tallies.null_risk),
        capabilities=_shared(mine.capabilities if mine else None, reference.capabilities),
        dependencies=_shared(mine.dependencies if mine else None, reference.dependencies),
        rules=_shared(mine.rules if mine else None, reference.rules),
        epsilon=one.epsilon if ok else None,
    )


def _shared(mine: AbstractSet[Any] | None, reference: AbstractSet[Any] | None) -> tuple[int, int] | None:
    if reference is None:
        return None
    return (0, len(reference)) if mine is None else (len(mine & reference), len(mine | reference))


def _answer_score(rules: TallyRules, sssa: Sssa | None, named: _Named | None, truth: Truth | None) -> float:
    """Return findings · d + verdict · v of an answer to a planted task; 0 for one that failed a gate (D-38)."""
    if sssa is None or named is None or truth is None:
        return 0.0
    all_named = named.said + named.known
    d = 2 * named.hits / all_named if all_named else 1.0
    v = 1.0 if sssa.analysis.verdict == truth.verdict else 0.0
    return rules.findings * d + rules.verdict * v


def struck(tally: Tally) -> Tally:
    """Return an entry as one without `ok`; the second numbers stay (D-30, D-38)."""

    def none_of(share: tuple[int, int] | None) -> tuple[int, int] | None:
        return None if share is None else (0, share[1])

    return Tally(
        ok=False,
        hits=None if tally.hits is None else 0,
        said=None if tally.said is None else 0,
        known=tally.known,
        verdict=None,
        reference=tally.reference,
        risk=None if tally.risk is None else 0.0,
        risk_null=tally.risk_null,
        capabilities=none_of(tally.capabilities),
        dependencies=none_of(tally.dependencies),
        rules=none_of(tally.rules),
        epsilon=None,
    )
