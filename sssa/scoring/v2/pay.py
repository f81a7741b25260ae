"""Tallies to weights: ratios, and the transition from 1.0.0 (SPEC 17, D-41, D-42)."""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from sssa.protocol.arithmetic import cut, mean
from sssa.protocol.skill_types import KINDS, Kind, SkillType, types_of
from sssa.protocol.sssa import Verdict
from sssa.protocol.tallies import NO_PRESENCE, NO_RECORD, Presence, Tally
from sssa.scoring.scoring_types import NO_BASIS, PayBasis, Ratio, TallyPay, TypePay, WeightPlan
from sssa.scoring.v1.emission import bootstrap
from sssa.scoring.v1.weights import (
    NOBODY,
    Standing,
    kind_weights,
    miner_score,
    mixed,
    unpaid_windows,
    workflow_share,
)
from sssa.scoring.v2.rules import ComponentRules, PresenceRules, Ruled20
from sssa.scoring.v2.tallies import record_mean, with_curated
from sssa.state.mechanism_state import Pair, State
from sssa.state.tallies import record_of

Windows = Mapping[str, Mapping[str, Sequence[Any]]]
"""Hotkey to skill type to entries, oldest first: tallies, and numbers of workflows."""
Tallies = Mapping[str, Mapping[str, Sequence[Tally]]]

_ASSESSMENTS: Final = types_of(KINDS[:1])
_WORKFLOW: Final = str(SkillType.WORKFLOW)
_VERDICTS: Final[tuple[Verdict, ...]] = ("ALLOW", "REVIEW", "BLOCK")  # in the order of the formula


def mechanism_weights(
    version: Ruled20,
    windows: Windows,
    kinds: Collection[Kind] = KINDS,
    standing: Standing = NOBODY,
    basis: PayBasis = NO_BASIS,
) -> WeightPlan:
    """Return scores and capped weights of one mechanism; a miner missing in `standing` has declared nothing."""
    types = types_of(kinds)
    hotkeys = dict.fromkeys((*windows, *basis.before))
    ours = {one: _of_types(windows.get(one, {}), types) for one in hotkeys}
    before = {one: _of_types(basis.before.get(one, {}), types) for one in hotkeys}
    unpaid = unpaid_windows(version, ours, standing)
    unpaid_before = unpaid_windows(version, before, standing)
    paid = {one: _paid(of_types, unpaid.get(one, {})) for one, of_types in ours.items()}
    earlier = {one: _paid(of_types, unpaid_before.get(one, {})) for one, of_types in before.items()}
    assessed, planned, tallied = paid_scores(version, paid, earlier, basis)
    plan = kind_weights(version, kinds, assessed, planned, workflow_share(version, paid, planned))
    return plan._replace(assessments=assessed, workflows=planned, unpaid=unpaid, tallied=tallied)


def paid_scores(
    version: Ruled20, paid: Windows, earlier: Windows, basis: PayBasis
) -> tuple[dict[str, float], dict[str, float], TallyPay]:
    """Return assessment shares and workflow scores, and what made the former, of windows that are all paid.

    Args:
        version: whose numbers count.
        paid: of 2.0.0, and workflows.
        earlier: as the entries of earlier versions left them, of the same hotkeys.
        basis: what else decides.
    """
    tallied = pay_tallies(version, {one: _of_types(of, _ASSESSMENTS) for one, of in paid.items()}, basis)
    before = {one: miner_score(version, of_types, _ASSESSMENTS) for one, of_types in earlier.items()}
    planned = {one: miner_score(version, of_types, (_WORKFLOW,)) for one, of_types in paid.items()}
    return mixed(before, tallied.scores, tallied.share), planned, tallied  # D-42


def _of_types(windows: Mapping[str, Sequence[Any]], types: Iterable[str]) -> dict[str, Sequence[Any]]:
    return {name: windows[name] for name in types if name in windows}


def _paid(windows: Mapping[str, Sequence[Any]], unpaid: Mapping[str, str]) -> dict[str, Sequence[Any]]:
    return {name: entries for name, entries in windows.items() if name not in unpaid}


def pay_tallies(version: Ruled20, windows: Tallies, basis: PayBasis) -> TallyPay:
    """Return the assessment scores of paid windows, with everything that made them (D-41)."""
    rules, most = version.rules.components, version.rules.pay.window
    newest = {
        hotkey: {name: of_types[name][-most:] for name in _ASSESSMENTS if of_types.get(name)}
        for hotkey, of_types in windows.items()
    }
    pool = _Pool(version, newest)
    parts = {
        hotkey: {
            name: pool.pay(hotkey, name, _presence(version.rules.presence, basis.presence.get(hotkey, {}).get(name)))
            for name in newest[hotkey]
        }
        for hotkey in newest
    }
    entries = {hotkey: sum(map(len, of_types.values())) for hotkey, of_types in newest.items()}
    worth = {
        hotkey: {name: _worth(version, name, one, basis.epoch) for name, one in of_types.items()}
        for hotkey, of_types in parts.items()
    }
    factors = {hotkey: curated_factor(version, basis, hotkey) for hotkey in newest}
    scores = {
        hotkey: math.fsum(worth[hotkey].values()) * (n / (n + rules.ramp)) * factors[hotkey]
        for hotkey, n in entries.items()
    }
    return TallyPay(
        scores=scores,
        parts={one: of_types for one, of_types in parts.items() if of_types},
        worth=worth,
        entries={one: n for one, n in entries.items() if n},
        factors=factors,
        pool=pool.ratios,
        verdicts=pool.verdicts,
        risks=pool.risks,
        share=min(1.0, basis.rounds / rules.transition),
    )


def _worth(version: Ruled20, name: str, one: TypePay, epoch: int) -> float:
    of_type = version.rules.types[SkillType(name)]
    factor = bootstrap(version.rules.emission, of_type, epoch)
    return of_type.base_weight * factor * one.quality * one.quality * one.epsilon * one.presence


def _presence(rules: PresenceRules, presence: Presence | None) -> float:
    """Return h, the part of its turns that a miner took (D-41)."""
    taken = presence or NO_PRESENCE
    return min(1.0, (taken.answered + rules.prior) / (taken.asked + rules.prior))


def curated_factor(version: Ruled20, basis: PayBasis, hotkey: str) -> float:
    """Return f, the factor of a miner that is much worse where planted tasks cannot be recognized (D-41)."""
    rules = version.rules.components
    y = record_mean(version.rules.tallies, basis.records.get(hotkey, NO_RECORD))
    c = with_curated(y, rules.curated_weight, basis.curated.get(hotkey, NO_RECORD))
    return (c / y) * (c / y) if c < rules.curated_from * y else 1.0


class _Sum(NamedTuple):
    """N and D of a component."""

    got: float = 0
    offered: float = 0


def _sums(entries: Sequence[Tally]) -> dict[str, _Sum]:
    """Return N and D of every component over the entries of a type."""
    risks = [one.risk for one in entries if one.risk is not None]
    judged = [one for one in entries if one.reference is not None]
    return {
        "findings": _Sum(
            sum(2 * one.hits for one in entries if one.hits is not None),
            sum((one.said or 0) + (one.known or 0) for one in entries),
        ),
        "verdict": _Sum(sum(one.verdict == one.reference for one in judged), len(judged)),
        "risk": _Sum(math.fsum(risks), len(risks)),
        "capabilities": _shares(one.capabilities for one in entries),
        "dependencies": _shares(one.dependencies for one in entries),
        "rules": _shares(one.rules for one in entries),
    }


def _shares(shares: Iterable[tuple[int, int] | None]) -> _Sum:
    known = [share for share in shares if share is not None]
    return _Sum(sum(got for got, _ in known), sum(offered for _, offered in known))


class _Pool:
    """All paid windows of a vector, and the pay of one of them among the others.

    Attributes:
        ratios: component to p.
        verdicts, risks: skill type to q and z.
    """

    def __init__(self, version: Ruled20, windows: Tallies) -> None:
        self._rules: ComponentRules = version.rules.components
        self._windows = windows
        self._sums = {
            hotkey: {name: _sums(entries) for name, entries in of_types.items()} for hotkey, of_types in windows.items()
        }
        names = [name for name, _ in self._rules.weights]
        self._own = {
            hotkey: {name: _added(sums[name] for sums in of_types.values()) for name in names}
            for hotkey, of_types in self._sums.items()
        }
        self.ratios: dict[str, float] = {}
        for name in names:
            all_miners = _added(sums[name] for sums in self._own.values())
            self.ratios[name] = all_miners.got / all_miners.offered if all_miners.offered else 0.0
        self._entries = {hotkey: sum(map(len, of_types.values())) for hotkey, of_types in windows.items()}
        self._verdicts = {
            hotkey: _frequencies(one.verdict for entries in of_types.values() for one in entries)
            for hotkey, of_types in windows.items()
        }
        self.verdicts: dict[str, dict[str, float]] = {}
        self.risks: dict[str, float] = {}
        for skill_type in _ASSESSMENTS:
            entries = [one for of_types in windows.values() for one in of_types.get(skill_type, ())]
            if entries:
                nulls = [one.risk_null for one in entries if one.risk_null is not None]
                self.verdicts[skill_type] = _frequencies(one.reference for one in entries)
                self.risks[skill_type] = mean(nulls) if nulls else 0.0

    def pay(self, hotkey: str, skill_type: str, presence: float) -> TypePay:
        """Return the pay of a miner's window of a type (D-41)."""
        ratios = {name: self._ratio(hotkey, skill_type, name) for name, _ in self._rules.weights}
        quality = 0.0
        for name, weight in self._rules.weights:
            quality += weight * ratios[name].value
        known = [one.epsilon for one in self._windows[hotkey][skill_type] if one.epsilon is not None]
        return TypePay(ratios, mean(known) if known else 1.0, quality, presence)

    def _ratio(self, hotkey: str, skill_type: str, name: str) -> Ratio:
        rules, pool = self._rules, self.ratios[name]
        type_sum, own_sum = self._sums[hotkey][skill_type][name], self._own[hotkey][name]
        offered = max(rules.least_offered, own_sum.offered / self._entries[hotkey])
        own = (own_sum.got + rules.pool * offered * pool) / (own_sum.offered + rules.pool * offered)
        ratio = (type_sum.got + rules.own * offered * own) / (type_sum.offered + rules.own * offered)
        return Ratio(type_sum.got, type_sum.offered, own, ratio, self._value(hotkey, skill_type, name, ratio))

    def _value(self, hotkey: str, skill_type: str, name: str, ratio: float) -> float:
        """Return what enters the quality: the ratio without what chance alone would give."""
        if name == "verdict":
            claimed, true = self._verdicts[hotkey], self.verdicts[skill_type]
            chance, certainty = 0.0, 0.0
            for verdict in _VERDICTS:
                chance += claimed[verdict] * true[verdict]
                certainty += true[verdict] * true[verdict]
            return cut((ratio - chance) / max(self._rules.least_verdict, 1.0 - certainty), 0.0, 1.0)
        if name == "risk":
            null = self.risks[skill_type]
            return cut((ratio - null) / max(self._rules.least_risk, 1.0 - null), 0.0, 1.0)
        return cut(ratio, 0.0, 1.0) if name == "findings" else ratio


def _added(sums: Iterable[_Sum]) -> _Sum:
    all_sums = list(sums)
    return _Sum(math.fsum(one.got for one in all_sums), math.fsum(one.offered for one in all_sums))


def _frequencies(verdicts: Iterable[str | None]) -> dict[str, float]:
    """Return the share of each verdict among those that are known; 0 each without any."""
    counts = Counter(verdict for verdict in verdicts if verdict is not None)
    known = counts.total()
    return {verdict: counts[verdict] / known if known else 0.0 for verdict in _VERDICTS}


def entries_of(version: Ruled20, pair: Pair, name: str) -> list[Any]:
    """Return the newest entries of a window: tallies, or numbers of workflows."""
    most = version.rules.pay.window
    return pair.window.newest(most).tolist() if name == _WORKFLOW else pair.tallies.tallies(most)


def pay_basis(version: Ruled20, state: State, epoch: int, hotkeys: Iterable[str]) -> PayBasis:
    """Return what decides a vector of these hotkeys besides windows and standing."""
    most = version.rules.pay.window
    miners = {hotkey: state.miner(hotkey) for hotkey in sorted(set(hotkeys))}
    return PayBasis(
        epoch=epoch,
        rounds=state.shared.tallied,
        before={
            hotkey: {
                str(name): pair.window.newest(most).tolist()
                for name, pair in sorted(miner.pairs.items())
                if name != SkillType.WORKFLOW and pair.window.added
            }
            for hotkey, miner in miners.items()
        },
        records={hotkey: record_of(miner.answers) for hotkey, miner in miners.items()},
        curated={hotkey: record_of(miner.curated) for hotkey, miner in miners.items()},
        presence={
            hotkey: {str(name): pair.presence for name, pair in miner.pairs.items() if pair.presence is not None}
            for hotkey, miner in miners.items()
        },
    )
