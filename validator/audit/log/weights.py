"""The vectors of a log: each is read with its line, computed again, and what became of it follows (SPEC 16, D-28)."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from msgspec import UNSET

from validator.audit.log.claims import Claim, Standing, windows_of
from validator.audit.log.fates import Fates
from validator.audit.log.faults import FaultError
from validator.audit.log.lines import Line, LineReader, parse, require_canonical
from validator.audit.log.pay import Frozen, Pay
from validator.audit.log.salts import WrongReceiptError
from validator.audit.log.standing import Standing as Miners
from validator.audit.log.vector import Recomputed, recompute
from validator.protocol.receipt import Receipt, WeightsLink
from validator.protocol.weights_document import WeightsDocument
from validator.scoring import UnknownScoringVersionError, Version, version

_MOST_OPEN: Final = 64  # rounds at once
_MOST_WAITING: Final = 64  # vectors that were computed while one round was open
_EPOCHS: Final = 8
_MOST_MECHANISMS: Final = 256


@dataclass(slots=True)
class Vectors:
    """The vectors of a log, as far as it was read.

    Attributes:
        pay: what its rounds say of who is paid.
        miners: what they say of flags and reputations.
        fates: what became of them.
        counted: `told`, `recomputed` (everything followed but who was registered), and of what is the validator's
            word `scores`, `reasons`, `left_out` and `opened` (rounds that were open, frozen behind the snapshot).
    """

    pay: Pay
    miners: Miners
    fates: Fates = field(default_factory=Fates)
    counted: Counter[str] = field(default_factory=Counter)
    _waiting: list[Claim] = field(default_factory=list)
    _rounds: dict[tuple[int, int], dict[int, str | None]] = field(default_factory=dict)
    _blocks: dict[tuple[int, int], int] = field(default_factory=dict)

    @property
    def waiting(self) -> int:
        """How many wait for a round that was open when they were computed."""
        return len(self._waiting)

    def add(self, reader: LineReader, found: Line, receipt: Receipt, next_round: int | None) -> None:
        """Read what a receipt says of weights; of other kinds it says nothing.

        Args:
            reader: after the receipt's line.
            found: that line.
            receipt: in it.
            next_round: id of the first round that has not ended; None where no round was told yet.

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
            return
        line = reader.require("weights", None, receipt.weights.sha256)
        document = parse(line, WeightsDocument, line.document, None)
        require_canonical(line, None, document)
        self.fates.sent(receipt.sequence, receipt.weights, document)
        self.counted["told"] += 1
        claim = self._claim(found, line.number, receipt.weights, document, next_round)
        if not claim.waits:
            self._judge(claim, receipt.validator_hotkey)
        elif len(self._waiting) == _MOST_WAITING:
            raise FaultError(line.number, "weights", None, f"more than {_MOST_WAITING} while one round was open")
        else:
            self._waiting.append(claim)

    def end(self, index: int, told: Frozen | None, hotkey: str) -> None:
        """Take in a round that ended: vectors that were computed while it was open have waited for it.

        Raises:
            FaultError: one of them does not follow.
        """
        if told is not None:
            self.pay.around.settle()
        for claim in self._waiting:
            claim.open_round(index, told)
        ready = [claim for claim in self._waiting if not claim.waits]
        self._waiting = [claim for claim in self._waiting if claim.waits]
        for claim in ready:
            self._judge(claim, hotkey)

    def _claim(
        self, found: Line, number: int, link: WeightsLink, document: WeightsDocument, next_round: int | None
    ) -> Claim:
        pay = self.pay
        by = _version(found, link)
        if pay.netuid is not None and link.netuid != pay.netuid:
            raise FaultError(
                found.number, "receipt", None, f"{link.netuid}; the rounds are of {pay.netuid}", "weights.netuid"
            )
        if next_round is not None and not 0 <= int(document.next_round) - next_round <= _MOST_OPEN:
            what = f"{document.next_round}, where {next_round} is the first round that had not ended"
            raise FaultError(number, "weights", None, what, "next_round")
        newest = self._blocks.get((link.netuid, link.mechid), 0)
        if link.block < newest:
            what = f"{link.block} is before {newest}, of the mechanism's vector before it"
            raise FaultError(found.number, "receipt", None, what, "weights.block")
        self._blocks[link.netuid, link.mechid] = link.block
        since_known = self._since(number, link, document)
        standings = {miner.hotkey: self._standing(miner.hotkey) for miner in document.miners}
        for i, miner in enumerate(document.miners):
            if pay.whole and miner.hotkey not in pay.windows:
                raise FaultError(number, "weights", None, "has no window", f"miners[{i}]")
        return Claim(
            line=number,
            link=link,
            document=document,
            version=by,
            opened=next_round,
            windows=dict(windows_of(pay, document, by, standings, since_known)),
            excluded=set(pay.excluded),
            proven=pay.known_proven(),
            frozen=list(pay.frozen),
            since_known=since_known,
            clouded=pay.clouded is not None and (not pay.frozen or pay.frozen[-1].number < pay.clouded),
            left_out=len(pay.windows) - sum(miner.hotkey in pay.windows for miner in document.miners),
            omitted=frozenset(one for one in pay.around.registered() - standings.keys() if one in pay.windows),
        )

    def _since(self, number: int, link: WeightsLink, document: WeightsDocument) -> bool:
        """Hold where the declarations begin against the vector before; return whether the file shows that one."""
        epochs = self._rounds.setdefault((link.netuid, link.mechid), {})
        if len(self._rounds) > _MOST_MECHANISMS:
            raise FaultError(number, "weights", None, f"of more than {_MOST_MECHANISMS} mechanisms in one file")
        before = max((epoch for epoch in epochs if epoch < link.epoch), default=None)
        if before is not None and epochs[before] != document.since_round:
            what = f"{document.since_round}, where {epochs[before]} is the round of epoch {before}'s vector"
            raise FaultError(number, "weights", None, what, "since_round")
        epochs[link.epoch] = document.round_id
        while len(epochs) > _EPOCHS:
            del epochs[min(epochs)]
        return before is not None or (self.pay.whole and document.since_round is None)

    def _standing(self, hotkey: str) -> Standing | None:
        known = self.miners.stands(hotkey)
        if known is None:
            return None
        reputations = {str(kind): value for kind, value in known[1].items()}
        return Standing(known[0], reputations)

    def _judge(self, claim: Claim, hotkey: str) -> None:
        found: Recomputed = recompute(claim, hotkey)
        self.pay.around.hold(claim.line, claim.link, claim.document, claim.omitted - {hotkey})
        self.counted["recomputed"] += found.whole
        self.counted["opened"] += sum(one.block > claim.link.block for one in claim.frozen)
        self.counted.update(scores=found.scores, reasons=found.reasons, left_out=found.left_out)


def _version(found: Line, link: WeightsLink) -> Version:
    try:
        return version(link.scoring_version)
    except UnknownScoringVersionError as error:
        raise FaultError(found.number, "receipt", None, str(error), "weights.scoring_version") from None
