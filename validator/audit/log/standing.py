"""What a log says of its miners from round to round: only outcomes change it (SPEC 9, 10)."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from validator.audit.log.documents import Planned
from validator.audit.log.executions import ExecutionResults
from validator.audit.log.filled import Deferred
from validator.audit.log.flags import Flags
from validator.audit.log.pay import Pay
from validator.protocol.round import AgreementPair, MinerState, RoundInput, RoundOutcome
from validator.protocol.skill_types import SkillType
from validator.scoring import Version

_KEPT: Final = 512  # agreements of a pair: more than any version's window, and a bound on what a log can make us keep


@dataclass(slots=True)
class _Known:
    """One miner, as the rounds read so far leave it."""

    reputations: dict[SkillType, float] = field(default_factory=dict)
    agreements: defaultdict[SkillType, tuple[AgreementPair, ...]] = field(default_factory=lambda: defaultdict(tuple))


@dataclass(slots=True)
class Standing:
    """Reputations, collusion windows and flags of the miners of a log.

    Attributes:
        whole: the log begins with the first round, so that nobody can have a past which it does not tell.
        executions: of which tasks results may come.
        deferred: answers whose quality is to come.
        flags: of all miners.
        pay: what decides who is paid.
        pasts: miners whose first input said of a past what the file does not show.
    """

    whole: bool = False
    executions: ExecutionResults = field(default_factory=ExecutionResults)
    deferred: Deferred = field(default_factory=Deferred)
    flags: Flags = field(default_factory=Flags)
    pay: Pay = field(default_factory=Pay)
    pasts: int = 0
    _known: dict[str, _Known] = field(default_factory=dict)

    @property
    def known(self) -> int:
        """How many miners the log told of."""
        return len(self._known)

    def fault(self, frozen: RoundInput, window: int) -> str | None:
        """Return the first place in a round's input that does not follow from the rounds before it; learn the rest.

        Args:
            frozen: the input.
            window: how many agreements of a pair the round's version looks back on.
        """
        self.flags.whole = self.whole
        for i, miner in enumerate(frozen.miners):
            known = self._of(miner.hotkey)
            if known is None:
                known = self._known[miner.hotkey] = _told(miner)
                self.pasts += bool(miner.reputations or miner.agreements)
            wrong = _difference(known, miner, window)
            if wrong is None and self.flags.fault(miner.hotkey, miner.flags):
                wrong = "flags"
            if wrong is not None:
                return f"miners[{i}].{wrong}"
        place = self.executions.fault(frozen.executions)
        return None if place is None else f"executions{place}"

    def stands(self, hotkey: str) -> tuple[int, Mapping[SkillType, float]] | None:
        """Return how many flags a miner has, and its reputations; None where the log told nothing of it."""
        known = self._of(hotkey)
        return None if known is None else (self.flags.stand(hotkey), known.reputations)

    def add(self, scored_by: Version, planned: Planned, outcome: RoundOutcome) -> None:
        """Take in what a settled round came to; miners that no input has told of yet stay unknown."""
        self.executions.add(scored_by, planned, outcome)
        for event in outcome.reputation:
            if known := self._of(event.hotkey):
                known.reputations[event.skill_type] = event.after
        for sample in outcome.samples:
            known = self._of(sample.hotkey)
            if known and sample.counted and sample.with_primaries is not None and sample.with_auditors is not None:
                pair = AgreementPair(sample.with_primaries, sample.with_auditors)
                known.agreements[sample.skill_type] = (*known.agreements[sample.skill_type], pair)[-_KEPT:]
        self.flags.add(planned.frozen.round_id, outcome)
        for flag in outcome.flags:
            if known := self._of(flag.hotkey):
                known.agreements[flag.skill_type] = ()  # D-9

    def _of(self, hotkey: str) -> _Known | None:
        return self._known.setdefault(hotkey, _Known()) if self.whole else self._known.get(hotkey)


def _told(miner: MinerState) -> _Known:
    return _Known(dict(miner.reputations), defaultdict(tuple, miner.agreements))


def _difference(known: _Known, miner: MinerState, window: int) -> str | None:
    if miner.reputations != known.reputations:
        return "reputations"
    if miner.agreements != {kind: pairs[-window:] for kind, pairs in known.agreements.items() if pairs}:
        return "agreements"
    return None
