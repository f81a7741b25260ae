"""A vector of a log, held until every round is told that decided it; and what those rounds say of a window (D-23)."""

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Final

from validator.protocol.receipt import WeightsLink
from validator.protocol.round import RoundInput, RoundPlan
from validator.protocol.skill_types import ASSESSED_TYPES, WINDOW_TYPES, SkillType
from validator.protocol.weights_document import WeightsDocument
from validator.scoring import ExecutionRules, Share, TypeStanding, Version, version
from validator.state import Change, Declarations, Pair, State, apply, clouded

ASSESSMENTS: Final = tuple(map(str, ASSESSED_TYPES))
WORKFLOW: Final = str(SkillType.WORKFLOW)
_FEW, _ALL = (0, 0), (1_000, 1_000)  # failures that are none, and too many whatever the version


@dataclass(slots=True)
class Claim:
    """A vector that the log tells, and everything that it follows from.

    Attributes:
        line: number of its line.
        link, document: what is told.
        state: that the rounds before it left; the plans of those that were open count from then on.
        opened: the first round that had not ended; those from it up to the document's `next_round` were open.
        since_known: whether the log shows where the counted declarations begin.
        left_out: miners with a window that it does not list.
        omitted: those of them that the newest round has registered.
    """

    line: int
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
        """Whether rounds that were open are not told yet."""
        return self.opened is not None and self.opened < self.next_round

    @property
    def is_clouded(self) -> bool:
        """Whether nobody can read the plan of the newest round that counts."""
        cloud, rounds = self.state.shared.clouded, self.state.shared.rounds
        return cloud is not None and (not rounds or rounds[-1].number < cloud)

    def open_round(self, index: int, planned: tuple[RoundInput, RoundPlan] | None, *, readable: bool) -> None:
        """Take in a round that was open: who was drawn in it counts, what came of it does not.

        Args:
            index: of the round.
            planned: its input and plan; None where there are none.
            readable: False: there are, and nobody can read them.
        """
        self.opened = index + 1
        if planned is not None:
            change = Change(self.state)
            change.plan(*planned, counted=False)
            self.state = apply(self.state, change.delta())
        elif not readable:
            self.state = clouded(self.state, index)


@dataclass(frozen=True, slots=True)
class Window:
    """A window when the vector was computed, and what may be true of it; more than one of it is not known.

    Attributes:
        entries: that the file shows, oldest first.
        whole: nothing that counts is from before the file.
        flags: of the miner.
        reputations: for the type.
        failures: dispatches and how many of them failed.
        declared: in enough of the rounds that count.
        proven: no plan leaves it out, or it was proven since.
        execution_fails: among the last results of execution.
    """

    entries: "array[float]"
    whole: bool
    flags: tuple[int, ...]
    reputations: tuple[float, ...]
    failures: tuple[tuple[int, int], ...]
    declared: tuple[bool, ...]
    proven: tuple[bool, ...]
    execution_fails: tuple[int, ...]

    def reasons(self, by: Version) -> frozenset[str | None]:
        """Return why it may be unpaid, None among them where it may be paid."""
        found: set[str | None] = set()
        options = (self.flags, self.declared, self.reputations, self.failures, self.proven, self.execution_fails)
        for flags, declared, reputation, (dispatches, failed), proven, fails in product(*options):
            reason = by.unpaid_reason(flags, TypeStanding(declared, reputation, dispatches, failed, proven, fails))
            found.add(None if reason is None else str(reason))
        return frozenset(found)


def shares(document: WeightsDocument) -> tuple[Share, ...]:
    """Return what a mechanism pays for, as scoring versions take it."""
    types = {"assessments": ASSESSMENTS, "workflows": (WORKFLOW,)}
    return tuple(Share(types[kind]) for kind in document.kinds)


def paid_types(document: WeightsDocument) -> tuple[str, ...]:
    """Return the types whose windows a mechanism pays, in the order of SPEC 1."""
    found = {name for share in shares(document) for name in share.types}
    return tuple(name for name in WINDOW_TYPES if name in found)


def windows_of(claim: Claim) -> Mapping[tuple[str, str], Window]:
    """Return the windows of the listed miners as they stood when the vector was computed."""
    return dict(_windows(claim))


def _windows(claim: Claim) -> Iterator[tuple[tuple[str, str], Window]]:
    state, rules, document = claim.state, claim.version.rules, claim.document
    lookback = claim.next_round - rules.groups.history_rounds
    declares = _Declares(claim)
    for listed in document.miners:
        miner = state.miner(listed.hotkey)
        flags = (len(miner.flags) + miner.earlier,) if miner.known else (0, rules.groups.ejecting_flags)
        for name in paid_types(document):
            key = listed.hotkey, SkillType(name)
            pair = state.pair(*key)
            reputation = rules.reputation.start if pair.reputation is None else pair.reputation
            yield (
                (listed.hotkey, name),
                Window(
                    entries=pair.window.newest(rules.pay.window),
                    whole=state.whole or pair.window.added >= rules.pay.window,
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
    cloud = -1 if state.shared.clouded is None else state.shared.clouded
    shown = pair.proven is not None and pair.proven > cloud
    return (True,) if shown or state.exact else (True, False)


class _Declares:
    """Whether a pair, by its number, is declared in enough of the rounds that count; without one, in the last."""

    def __init__(self, claim: Claim) -> None:
        state, document = claim.state, claim.document
        since = None if document.since_round is None else int(document.since_round)
        self._found = Declarations.since(state.shared, since)
        known = claim.since_known and state.remembers(0 if since is None else since + 1)
        last_known = not claim.is_clouded and (bool(state.shared.rounds) or state.exact)
        self._known = known and (self._found.counted or last_known)

    def __call__(self, number: int | None) -> tuple[bool, ...]:
        return (self._found.holds(number),) if self._known else (True, False)
