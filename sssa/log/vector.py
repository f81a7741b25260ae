"""A vector computed again from the rounds of a log: reasons, scores, share, cap, row (SPEC 11; SPEC 11, D-23, D-24)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final, NamedTuple

from msgspec import UNSET

from sssa.log.lines import Line, parting
from sssa.protocol.reasons import Reason
from sssa.protocol.receipt import WeightedMiner, WeightsDocument, WeightsLink
from sssa.protocol.round import RoundInput, RoundPlan
from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType, types_of
from sssa.protocol.weight_rows import shares_of, to_u16
from sssa.scoring import (
    ExecutionRules,
    TypeStanding,
    Version,
    Version20,
    kind_weights,
    miner_score,
    paid_scores,
    share_of,
    unpaid_reason,
    version,
)
from sssa.state.mechanism_state import Declarations, Pair, State
from sssa.state.round_end import Change, apply, mark_unknown_plan

ASSESSMENTS: Final = tuple(map(str, ASSESSED_TYPES))
WORKFLOW: Final = str(SkillType.WORKFLOW)
_FEW, _ALL = (0, 0), (1_000, 1_000)  # failures that are none, and too many whatever the version


@dataclass(slots=True)
class Claim:
    """A vector that the log tells, and everything that it follows from.

    Attributes:
        state: that the rounds before it left; the plans of those that were open count from then on.
        opened: the first round that had not ended; those from it up to the document's `next_round` were open.
        since_known: whether the log shows where the counted declarations begin.
        left_out: miners with a window that it does not list.
        omitted: those of them that the newest round has registered.
    """

    line: Line
    link: WeightsLink
    document: WeightsDocument
    state: State
    opened: int | None
    since_known: bool
    left_out: int
    omitted: frozenset[str]

    @property
    def version(self) -> Version:
        """The version that it names."""
        return version(self.link.scoring_version)

    @property
    def next_round(self) -> int:
        """Rounds from here on were not opened."""
        return int(self.document.next_round)

    @property
    def waits(self) -> bool:
        """True if rounds that were open have no line yet."""
        return self.opened is not None and self.opened < self.next_round

    @property
    def is_clouded(self) -> bool:
        """True if the plan of the newest counted round cannot be read."""
        cloud, rounds = self.state.shared.unknown_plan, self.state.shared.rounds
        return cloud is not None and (not rounds or rounds[-1].number < cloud)

    def open_round(self, index: int, planned: tuple[RoundInput, RoundPlan] | None, *, readable: bool) -> None:
        """Take in a round that was open: who was drawn in it counts, the result of it does not.

        `planned` is None where it has no input and plan; not `readable`: it has, and nobody can read them.
        """
        self.opened = index + 1
        if planned is not None:
            change = Change(self.state)
            change.plan(*planned, counted=False)
            self.state = apply(self.state, change.delta())
        elif not readable:
            self.state = mark_unknown_plan(self.state, index)


@dataclass(frozen=True, slots=True)
class Window:
    """A window when the vector was computed. Fields with several values are not known exactly: each value is possible.

    `earlier`: entries of versions before 2.0.0, where that pays; `whole`: nothing that counts is from before the file;
    `failures`: dispatches and how many of them failed.
    """

    entries: Sequence[Any]
    earlier: Sequence[float]
    whole: bool
    flags: tuple[int, ...]
    reputations: tuple[float, ...]
    failures: tuple[tuple[int, int], ...]
    declared: tuple[bool, ...]
    proven: tuple[bool, ...]
    execution_fails: tuple[int, ...]

    def reasons(self, by: Version) -> frozenset[str | None]:
        """Return why it may be unpaid, None among them where it may be paid."""
        reasons: set[str | None] = set()
        options = (self.flags, self.declared, self.reputations, self.failures, self.proven, self.execution_fails)
        for flags, declared, reputation, (dispatches, failed), proven, fails in product(*options):
            reason = unpaid_reason(by, flags, TypeStanding(declared, reputation, dispatches, failed, proven, fails))
            reasons.add(None if reason is None else str(reason))
        return frozenset(reasons)


def windows_of(claim: Claim) -> Mapping[tuple[str, str], Window]:
    """Return the windows of the listed miners as they stood when the vector was computed."""
    return dict(_windows(claim))


def _windows(claim: Claim) -> Iterator[tuple[tuple[str, str], Window]]:
    state, rules, document = claim.state, claim.version.rules, claim.document
    lookback = claim.next_round - rules.groups.history_rounds
    declares, tallies = _Declares(claim), claim.version.pays_tallies
    for listed in document.miners:
        miner = state.miner(listed.hotkey)
        flags = (len(miner.flags) + miner.earlier,) if miner.known else (0, rules.groups.ejecting_flags)
        for name in types_of(document.kinds):
            key = listed.hotkey, SkillType(name)
            pair = state.pair(*key)
            reputation = rules.reputation.start if pair.reputation is None else pair.reputation
            yield (
                (listed.hotkey, name),
                Window(
                    entries=claim.version.entries_of(pair, name),
                    earlier=pair.window.newest(rules.pay.window).tolist() if tallies and name != WORKFLOW else (),
                    whole=state.whole or (not tallies and pair.window.added >= rules.pay.window),
                    flags=flags,
                    reputations=(reputation,) if miner.known else (0.0, 1.0),
                    failures=(pair.dispatched(lookback),) if state.covers(lookback) else (_FEW, _ALL),
                    declared=declares(pair.number),
                    proven=_proven(state, pair),
                    execution_fails=_fails(state, pair, claim.next_round, rules.execution),
                ),
            )


def _fails(state: State, pair: Pair, next_round: int, rules: ExecutionRules) -> tuple[int, ...]:
    """Return how many of a pair's last results may be fails: more than one number where the file begins later."""
    since = next_round - rules.rounds
    events = pair.executed(since, rules.results)
    exact = state.covers(since) or len(events) == rules.results
    return (sum(events),) if exact else (sum(events), rules.results)


def _proven(state: State, pair: Pair) -> tuple[bool, ...]:
    if pair.excluded is not None:
        return (False,)
    cloud = -1 if state.shared.unknown_plan is None else state.shared.unknown_plan
    shown = pair.proven is not None and pair.proven > cloud
    return (True,) if shown or state.exact else (True, False)


class _Declares:
    """Test whether a pair, by number, is declared in enough of the counted rounds; without any, in the last one."""

    def __init__(self, claim: Claim) -> None:
        state, document = claim.state, claim.document
        since = None if document.since_round is None else int(document.since_round)
        self._declarations = Declarations.since(state.shared, since)
        known = claim.since_known and state.remembers(0 if since is None else since + 1)
        last_known = not claim.is_clouded and (bool(state.shared.rounds) or state.exact)
        self._known = known and (self._declarations.counted or last_known)

    def __call__(self, number: int | None) -> tuple[bool, ...]:
        return (self._declarations.holds(number),) if self._known else (True, False)


class Recomputed(NamedTuple):
    """The number of places of a vector that did not follow from the file, by kind.

    `bases`: where its declarations begin, or its version, is from before the file.
    """

    scores: int
    reasons: int
    bases: int
    left_out: int

    @property
    def whole(self) -> bool:
        """True if everything was recomputed except who was registered."""
        return not (self.scores or self.reasons or self.bases)


Windows = Mapping[tuple[str, str], Window]


class _Kinds(NamedTuple):
    """Scores by kind, how many windows make the workflows' share larger, and how many more may."""

    assessed: Mapping[str, float]
    planned: Mapping[str, float]
    full: int
    perhaps: int


def recompute(claim: Claim, hotkey: str) -> Recomputed:
    """Compare a vector with the recomputed one; every round that was open has its line by now.

    Raises:
        FaultError: the first place that does not follow.
    """
    _check_form(claim, hotkey)
    bases = _check_basis(claim)
    windows = windows_of(claim)
    reasons = sum(_reasons_of(claim, windows, i, miner) for i, miner in enumerate(claim.document.miners))
    kinds, scores = _tallied(claim, windows) if claim.version.pays_tallies else _kinds(claim, windows)
    _check_weights(claim, kinds)
    return Recomputed(scores, reasons, bases, claim.left_out)


def _check_form(claim: Claim, hotkey: str) -> None:
    document = claim.document
    hotkeys = [miner.hotkey for miner in document.miners]
    uids = {miner.uid: miner.hotkey for miner in document.miners}
    if hotkeys != sorted(set(hotkeys)) or len(uids) != len(hotkeys):
        raise claim.line.fault("must be sorted by hotkey, each hotkey and uid once", "miners")
    if hotkey in hotkeys:
        raise claim.line.fault("the validator itself is no miner", f"miners[{hotkeys.index(hotkey)}]")
    if list(document.kinds) != sorted(set(document.kinds)) or not document.kinds:
        raise claim.line.fault("must be assessments, workflows or both, each once", "kinds")
    if claim.version.pays_tallies is (document.pool is UNSET):
        raise claim.line.fault(f"does not go with {claim.link.scoring_version}", "pool")
    for i, miner in enumerate(document.miners):
        if document.pool is UNSET and (miner.parts, miner.entries, miner.factor) != (UNSET, UNSET, UNSET):
            raise claim.line.fault(f"does not go with {claim.link.scoring_version}", f"miners[{i}].parts")
    owner = document.owner
    if owner is not None and (
        uids.get(owner.uid, owner.hotkey) != owner.hotkey
        or (owner.hotkey in hotkeys and uids.get(owner.uid) != owner.hotkey)
    ):
        raise claim.line.fault("is not the uid that the miners have", "owner.uid")
    if claim.link.reason is None and not document.row:
        raise claim.line.fault("is empty, and it is sent", "row")
    if (claim.link.reason == Reason.WEIGHTS_NONE_POSITIVE) and document.row:
        raise claim.line.fault("has weights, and is not sent because nobody has a score", "row")


def _check_basis(claim: Claim) -> int:
    """Compare round and version with the rounds; return how much of them is the validator's word."""
    document, link = claim.document, claim.link
    if claim.opened is None:
        return 1
    rounds, exact = claim.state.shared.rounds, claim.state.exact
    before = [one for one in rounds if one.block <= link.block and one.number < claim.next_round]
    newest = before[-1] if before else None
    if newest is None and (not exact or document.round_id is None):
        return int(not exact)
    if newest is None:
        raise claim.line.fault(f"{document.round_id}, and no round was frozen", "round_id")
    if document.round_id != str(newest.number):
        what = f"{document.round_id}, where round {newest.number} is the newest frozen by block {link.block}"
        raise claim.line.fault(what, "round_id")
    if link.scoring_version != newest.version:
        raise claim.line.fault(
            f"computed by {link.scoring_version}; round {newest.number} is of {newest.version}", "round_id"
        )
    return 0 if claim.since_known else 1


def _reasons_of(claim: Claim, windows: Windows, i: int, miner: WeightedMiner) -> int:
    """Compare a miner's unpaid windows with its standing; return how many of them are the validator's word."""
    given = miner.unpaid or {}
    unsure = 0
    for name in sorted({*given, *types_of(claim.document.kinds)}):
        window = windows.get((miner.hotkey, name))
        if window is None or (window.whole and not window.entries):
            if name in given:
                raise claim.line.fault("there is no such window", f"miners[{i}].unpaid.{name}")
            continue
        may = window.reasons(claim.version)
        if not window.entries:
            may |= {None}  # perhaps there is none
        if given.get(name) not in may:
            follows = ", ".join(sorted(one or "paid" for one in may))
            raise claim.line.fault(f"{given.get(name, 'paid')}, where {follows} follows", f"miners[{i}].unpaid.{name}")
        unsure += len(may) > 1 and (bool(window.entries) or name in given)
    return unsure


def _tallied(claim: Claim, windows: Windows) -> tuple[_Kinds, int]:
    """Return the scores of each kind under 2.0.0, and how many of them are the validator's word.

    One window that is not whole leaves all of them its word: they are compared with each other.
    """
    document, listed = claim.document, {miner.hotkey: miner for miner in claim.document.miners}
    warm = claim.version.rules.pay.warm_up
    full = sum(
        miner.workflows > 0 and len(window.entries) >= warm
        for miner in document.miners
        if (window := windows.get((miner.hotkey, WORKFLOW))) is not None
    )
    kinds = _Kinds(
        {miner.hotkey: miner.assessments for miner in document.miners},
        {miner.hotkey: miner.workflows for miner in document.miners},
        full,
        0,
    )
    paid: dict[str, dict[str, Sequence[Any]]] = {hotkey: {} for hotkey in listed}
    earlier: dict[str, dict[str, Sequence[float]]] = {hotkey: {} for hotkey in listed}
    sure = claim.state.whole and not claim.state.shared.blind
    for (hotkey, name), window in windows.items():
        reasons = window.reasons(claim.version)
        sure = sure and window.whole and (len(reasons) == 1 or not (window.entries or window.earlier))
        if name not in (listed[hotkey].unpaid or {}):
            paid[hotkey][name] = window.entries
        if None in reasons:
            earlier[hotkey][name] = window.earlier
    if not sure or not isinstance(claim.version, Version20):
        return kinds, len(listed)
    basis = claim.version.pay_basis(claim.state, claim.link.epoch, listed)
    assessed, planned, tallied = paid_scores(claim.version, paid, earlier, basis)
    if document.pool != tallied.pool_document():
        raise claim.line.fault("is not what the tallies give", "pool")
    for i, miner in enumerate(document.miners):
        hotkey = miner.hotkey
        for name, again in (
            ("parts", tallied.paid_types(hotkey)),
            ("entries", tallied.entries.get(hotkey, UNSET)),
            ("factor", tallied.factors.get(hotkey, UNSET)),
            ("assessments", assessed[hotkey]),
            ("workflows", planned[hotkey]),
        ):
            if getattr(miner, name) != again:
                raise claim.line.fault("is not what the tallies give", f"miners[{i}].{name}")
    return kinds, 0


def _kinds(claim: Claim, recomputed: Windows) -> tuple[_Kinds, int]:
    """Return the scores of each kind, those from before the file as they are given, and how many those are."""
    assessed: dict[str, float] = {}
    planned: dict[str, float] = {}
    word = full = perhaps = 0
    warm = claim.version.rules.pay.warm_up
    for i, miner in enumerate(claim.document.miners):
        given = miner.unpaid or {}
        for kind, types, claimed, into in (
            ("assessments", ASSESSMENTS, miner.assessments, assessed),
            ("workflows", (WORKFLOW,), miner.workflows, planned),
        ):
            windows = {name: recomputed[miner.hotkey, name] for name in types if kind in claim.document.kinds}
            paid = {name: window for name, window in windows.items() if name not in given}
            if all(window.whole for window in paid.values()):
                again = miner_score(claim.version, {name: one.entries for name, one in paid.items()}, types)
                if again != claimed:
                    raise claim.line.fault(f"{claimed!r}, where the windows give {again!r}", f"miners[{i}].{kind}")
            else:
                word += 1
            into[miner.hotkey] = claimed
        window = recomputed.get((miner.hotkey, WORKFLOW))
        if miner.workflows > 0 and window is not None:
            full += len(window.entries) >= warm
            perhaps += not window.whole and len(window.entries) < warm
    return _Kinds(assessed, planned, full, perhaps), word


def _check_weights(claim: Claim, kinds: _Kinds) -> None:
    """Compare share, weights, unallocated weight and row with the scores."""
    document = claim.document
    share = document.workflow_share
    possible = (
        [share_of(claim.version, kinds.full + more) for more in range(kinds.perhaps + 1)]
        if len(document.kinds) > 1
        else [None]
    )
    if share not in possible:
        raise claim.line.fault(f"{share!r}, where {possible[0]!r} follows", "workflow_share")
    plan = kind_weights(claim.version, document.kinds, kinds.assessed, kinds.planned, share or 0.0)
    for i, miner in enumerate(document.miners):
        again = plan.weights.get(miner.hotkey, 0.0)
        if miner.weight != again:
            raise claim.line.fault(f"{miner.weight!r}, where the scores give {again!r}", f"miners[{i}].weight")
    if document.unallocated != plan.unallocated:
        what = f"{document.unallocated!r}, where the weights leave {plan.unallocated!r}"
        raise claim.line.fault(what, "unallocated")
    uids = {miner.hotkey: miner.uid for miner in document.miners}
    owner = None if document.owner is None else document.owner.uid
    sent = shares_of(plan.weights, plan.unallocated, uids, owner) if plan.weights else {}
    row = tuple(to_u16(sent).items())
    if document.row != row:
        raise claim.line.fault("is not what the weights give", f"row[{parting(document.row, row)}]")
