"""The vectors of a log: each is read with its line, computed again, and what became of it follows (SPEC 16, D-28)."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from msgspec import UNSET

from validator.audit.log.claims import Claim
from validator.audit.log.documents import Planned
from validator.audit.log.fates import Fates
from validator.audit.log.faults import FaultError
from validator.audit.log.lines import Line, LineReader, parse, require_canonical
from validator.audit.log.salts import WrongReceiptError
from validator.audit.log.uid_owners import Around
from validator.audit.log.vector import Recomputed, recompute
from validator.protocol.receipt import Receipt, RoundEnd, WeightsLink
from validator.protocol.weights_document import WeightsDocument
from validator.scoring import UnknownScoringVersionError, version
from validator.state import State, paid

_MOST_OPEN: Final = 64  # rounds at once
_MOST_WAITING: Final = 64  # vectors that were computed while one round was open
_MOST_MECHANISMS: Final = 256


@dataclass(slots=True)
class Vectors:
    """The vectors of a log, as far as it was read.

    Attributes:
        fates: what became of them.
        around: who had which uid.
        counted: `told`, `recomputed` (everything followed but who was registered), and of what is the validator's
            word `scores`, `reasons`, `left_out` and `opened` (rounds that were open, frozen behind the snapshot).
    """

    fates: Fates = field(default_factory=Fates)
    around: Around = field(default_factory=Around)
    counted: Counter[str] = field(default_factory=Counter)
    _waiting: list[Claim] = field(default_factory=list)
    _blocks: dict[tuple[int, int], int] = field(default_factory=dict)

    @property
    def waiting(self) -> int:
        """How many wait for a round that was open when they were computed."""
        return len(self._waiting)

    def add(self, reader: LineReader, found: Line, receipt: Receipt, next_round: int | None, state: State) -> State:
        """Read what a receipt says of weights; of other kinds it says nothing. Return the state after it.

        Args:
            reader: after the receipt's line.
            found: that line.
            receipt: in it.
            next_round: id of the first round that has not ended; None where no round was told yet.
            state: that the rounds before it left.

        Raises:
            FaultError: the line is missing, was changed, or does not hold.
        """
        self.fates.begin(receipt.sequence)
        if receipt.fate is not UNSET:
            try:
                self.fates.add(receipt.sequence, receipt.fate)
            except WrongReceiptError as wrong:
                raise FaultError(found.number, "receipt", None, wrong.what, wrong.path) from None
        if receipt.weights is UNSET:
            return state
        link = receipt.weights
        line = reader.require("weights", None, link.sha256)
        document = parse(line, WeightsDocument, line.document, None)
        require_canonical(line, None, document)
        self.fates.sent(receipt.sequence, link, document)
        self.counted["told"] += 1
        claim = self._claim(found, line.number, link, document, next_round, state)
        if not claim.waits:
            self._judge(claim, receipt.validator_hotkey)
        elif len(self._waiting) == _MOST_WAITING:
            raise FaultError(line.number, "weights", None, f"more than {_MOST_WAITING} while one round was open")
        else:
            self._waiting.append(claim)
        return paid(state, (link.netuid, link.mechid), link.epoch, document.round_id)

    def end(self, end: RoundEnd, planned: Planned | None, hotkey: str) -> None:
        """Take in a round that ended: vectors that were computed while it was open have waited for it.

        Args:
            end: of the round.
            planned: its input and plan; None where the log has none.
            hotkey: the validator's.

        Raises:
            FaultError: one of them does not follow.
        """
        if planned is not None:
            self.around.add(planned.frozen.snapshot)
            self.around.settle()
        for claim in self._waiting:
            opened = None if planned is None else (planned.frozen, planned.plan)
            claim.open_round(end.index, opened, readable=end.state != "abandoned")
        ready = [claim for claim in self._waiting if not claim.waits]
        self._waiting = [claim for claim in self._waiting if claim.waits]
        for claim in ready:
            self._judge(claim, hotkey)

    def _claim(  # noqa: PLR0913, PLR0917 - a vector, and what is known before it
        self,
        found: Line,
        number: int,
        link: WeightsLink,
        document: WeightsDocument,
        next_round: int | None,
        state: State,
    ) -> Claim:
        _check_version(found, link)
        netuid = state.shared.netuid
        if netuid is not None and link.netuid != netuid:
            what = f"{link.netuid}; the rounds are of {netuid}"
            raise FaultError(found.number, "receipt", None, what, "weights.netuid")
        if next_round is not None and not 0 <= int(document.next_round) - next_round <= _MOST_OPEN:
            what = f"{document.next_round}, where {next_round} is the first round that had not ended"
            raise FaultError(number, "weights", None, what, "next_round")
        newest = self._blocks.get((link.netuid, link.mechid), 0)
        if link.block < newest:
            what = f"{link.block} is before {newest}, of the mechanism's vector before it"
            raise FaultError(found.number, "receipt", None, what, "weights.block")
        self._blocks[link.netuid, link.mechid] = link.block
        since_known = _since_known(number, link, document, state)
        listed = {miner.hotkey for miner in document.miners}
        with_window = {hotkey for hotkey, miner in state.miners.items() if miner.has_window}
        for i, miner in enumerate(document.miners):
            if state.whole and miner.hotkey not in with_window:
                raise FaultError(number, "weights", None, "has no window", f"miners[{i}]")
        return Claim(
            line=number,
            link=link,
            document=document,
            state=state,
            opened=next_round,
            since_known=since_known,
            left_out=len(with_window) - sum(miner.hotkey in with_window for miner in document.miners),
            omitted=frozenset((self.around.registered() & with_window) - listed),
        )

    def _judge(self, claim: Claim, hotkey: str) -> None:
        found: Recomputed = recompute(claim, hotkey)
        self.around.hold(claim.line, claim.link, claim.document, claim.omitted - {hotkey})
        self.counted["recomputed"] += found.whole
        self.counted["opened"] += sum(one.block > claim.link.block for one in claim.state.shared.rounds)
        self.counted.update(scores=found.scores, reasons=found.reasons, left_out=found.left_out)


def _since_known(number: int, link: WeightsLink, document: WeightsDocument, state: State) -> bool:
    """Compare where the declarations begin with the vector before; return whether the file shows that one."""
    vectors = state.shared.vectors
    epochs = vectors.get((link.netuid, link.mechid), {})
    if not epochs and len(vectors) >= _MOST_MECHANISMS:
        raise FaultError(number, "weights", None, f"of more than {_MOST_MECHANISMS} mechanisms in one file")
    before = max((epoch for epoch in epochs if epoch < link.epoch), default=None)
    if before is not None and epochs[before] != document.since_round:
        what = f"{document.since_round}, where {epochs[before]} is the round of epoch {before}'s vector"
        raise FaultError(number, "weights", None, what, "since_round")
    return before is not None or (state.whole and document.since_round is None)


def _check_version(found: Line, link: WeightsLink) -> None:
    try:
        version(link.scoring_version)
    except UnknownScoringVersionError as error:
        raise FaultError(found.number, "receipt", None, str(error), "weights.scoring_version") from None
