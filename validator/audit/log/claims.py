"""A vector of a log, held until every round is told that decided it; and what those rounds say of a window (D-23)."""

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Final

from validator.audit.log.declared import Pair
from validator.audit.log.pay import Frozen, Pay
from validator.protocol.receipt import WeightsLink
from validator.protocol.skill_types import ASSESSED_TYPES, WINDOW_TYPES, SkillType
from validator.protocol.weights_document import WeightsDocument
from validator.scoring import Share, TypeStanding, Version

ASSESSMENTS: Final = tuple(map(str, ASSESSED_TYPES))
WORKFLOW: Final = str(SkillType.WORKFLOW)
_FEW, _ALL = (0, 0), (1_000, 1_000)  # failures that are none, and too many whatever the version


@dataclass(frozen=True, slots=True)
class Window:
    """A window when the vector was computed, and what may be true of it; more than one of it is not known.

    Attributes:
        entries: that the file shows, oldest first.
        whole: nothing that counts is from before the file.
        flags: of the miner.
        reputations: for the type.
        failures: dispatches and how many of them failed.
        declared: None: it hangs on the last frozen round.
        execution_fails: among the last results of execution.
    """

    entries: "array[float]"
    whole: bool
    flags: tuple[int, ...]
    reputations: tuple[float, ...]
    failures: tuple[tuple[int, int], ...]
    declared: tuple[bool, ...] | None
    execution_fails: tuple[int, ...]


@dataclass(slots=True)
class Claim:
    """A vector that the log tells, and everything that it follows from.

    Attributes:
        line: number of its line.
        link, document: what is told.
        version: that it names.
        opened: the first round that had not ended; those from it up to the document's `next_round` were open.
        windows: of the miners that it lists.
        excluded: who was unproven.
        proven: of whom it is known; None: of everybody.
        frozen: the rounds that were frozen, by id.
        since_known: whether the log shows where the counted declarations begin.
        left_out: miners with a window that it does not list.
        omitted: those of them that the newest round has registered.
        clouded: the plan of a round that counts cannot be read.
    """

    line: int
    link: WeightsLink
    document: WeightsDocument
    version: Version
    opened: int | None
    windows: Mapping[Pair, Window]
    excluded: set[Pair]
    proven: frozenset[Pair] | None
    frozen: list[Frozen]
    since_known: bool
    left_out: int
    omitted: frozenset[str]
    clouded: bool = False

    @property
    def next_round(self) -> int:
        """Rounds from here on were not opened."""
        return int(self.document.next_round)

    @property
    def waits(self) -> bool:
        """Whether rounds that were open are not told yet."""
        return self.opened is not None and self.opened < self.next_round

    def open_round(self, index: int, told: Frozen | None) -> None:
        """Take in a round that was open: who was drawn in it counts, what came of it does not."""
        self.opened = index + 1
        if told is None:
            self.clouded = True
            return
        self.frozen.append(told)
        self.excluded |= told.excluded

    def reasons(self, hotkey: str, name: str) -> frozenset[str | None]:
        """Return why the window may be unpaid, None among them where it may be paid."""
        window = self.windows[hotkey, name]
        found: set[str | None] = set()
        declared_ = self._declares((hotkey, name), window)
        options = (window.flags, declared_, window.reputations, window.failures, window.execution_fails)
        for flags, declared, reputation, (dispatches, failed), fails in product(*options):
            for proven in self._proves((hotkey, name)):
                standing = TypeStanding(declared, reputation, dispatches, failed, proven, fails)
                reason = self.version.unpaid_reason(flags, standing)
                found.add(None if reason is None else str(reason))
        return frozenset(found)

    def _declares(self, pair: Pair, window: Window) -> tuple[bool, ...]:
        if window.declared is not None:
            return window.declared
        if self.clouded or (not self.frozen and self.proven is not None):
            return (True, False)
        return (bool(self.frozen) and pair in self.frozen[-1].declared,)

    def _proves(self, pair: Pair) -> tuple[bool, ...]:
        if pair in self.excluded:
            return (False,)
        known = self.proven is None or pair in self.proven
        return (True,) if known and not self.clouded else (True, False)


def shares(document: WeightsDocument) -> tuple[Share, ...]:
    """Return what a mechanism pays for, as scoring versions take it."""
    types = {"assessments": ASSESSMENTS, "workflows": (WORKFLOW,)}
    return tuple(Share(types[kind]) for kind in document.kinds)


def paid_types(document: WeightsDocument) -> tuple[str, ...]:
    """Return the types whose windows a mechanism pays, in the order of SPEC 1."""
    found = {name for share in shares(document) for name in share.types}
    return tuple(name for name in WINDOW_TYPES if name in found)


@dataclass(frozen=True, slots=True)
class Standing:
    """Standing flags and reputations of a miner."""

    flags: int
    reputations: Mapping[str, float]


def windows_of(
    pay: Pay, document: WeightsDocument, version: Version, standings: Mapping[str, Standing | None], since_known: bool
) -> Iterator[tuple[Pair, Window]]:
    """Yield the windows of the listed miners as they stand."""
    most, rules = version.rules.pay.window, version.rules
    lookback = int(document.next_round) - rules.groups.history_rounds
    told = pay.covers(lookback)
    declared = _declarations(pay, document, known=since_known)
    for miner in document.miners:
        known = standings[miner.hotkey]
        for name in paid_types(document):
            pair = miner.hotkey, name
            yield (
                pair,
                Window(
                    entries=pay.windows.newest(*pair, most),
                    whole=pay.whole or pay.windows.added(*pair) >= most,
                    flags=(0, rules.groups.ejecting_flags) if known is None else (known.flags,),
                    reputations=(0.0, 1.0) if known is None else (known.reputations.get(name, rules.reputation.start),),
                    failures=(pay.failures(pair, lookback),) if told else (_FEW, _ALL),
                    declared=declared(pair),
                    execution_fails=pay.execution_fails(pair, int(document.next_round), rules.execution),
                ),
            )


class _Declares:
    """Whether a pair is declared in enough of the rounds that count."""

    def __init__(self, rounds: list[Frozen], *, known: bool) -> None:
        self._rounds, self._known = rounds, known

    def __call__(self, pair: Pair) -> tuple[bool, ...] | None:
        if not self._known:
            return (True, False)
        if not self._rounds:
            return None
        times = sum(pair in one.declared for one in self._rounds)
        return (times > 0 and 2 * (len(self._rounds) - times) <= len(self._rounds),)


def _declarations(pay: Pay, document: WeightsDocument, *, known: bool) -> _Declares:
    since = -1 if document.since_round is None else int(document.since_round)
    rounds = [one for one in pay.frozen if one.counted and one.number > since]
    return _Declares(rounds, known=known and pay.remembers(since + 1))
