"""What became of vectors, as a log tells it: each fate follows what was sent, and an epoch is confirmed once (D-28)."""

import sys
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from validator.audit.log.salts import WrongReceiptError
from validator.protocol.receipt import FateLink, FateState, WeightsLink
from validator.protocol.weights_document import Kind, WeightsDocument

_KEPT: Final = 1_024  # vectors, with their rows; of what became of older ones a log's word is taken
_KEPT_EPOCHS: Final = 100_000

Epoch = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Confirmed:
    """The newest vector of a mechanism that is on chain.

    Attributes:
        netuid, mechid, epoch: which one.
        sequence: of its receipt.
        block: of inclusion.
        row: [uid, u16] by uid.
        hotkeys: whom each of these uids belonged to.
    """

    netuid: int
    mechid: int
    epoch: int
    sequence: int
    block: int
    row: tuple[tuple[int, int], ...]
    hotkeys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mechanism:
    """What a log tells of the vectors of a mechanism.

    Attributes:
        netuid, mechid: which one.
        kinds: what its newest vector pays for.
        since: block of its first vector in the file.
        open_since: block of its newest vector, if that was to be sent and the log does not tell what became of it.
    """

    netuid: int
    mechid: int
    kinds: tuple[Kind, ...]
    since: int
    open_since: int | None


class _Sent(NamedTuple):
    link: WeightsLink
    row: bytes  # uids and values in turn, 2 bytes each
    hotkeys: tuple[str, ...]


class _Told(NamedTuple):
    """Of a mechanism: block of the first vector; number, block and kinds of the newest one, and if its fate is open."""

    since: int
    sequence: int
    block: int
    kinds: tuple[Kind, ...]
    waits: bool


@dataclass(slots=True)
class Fates:
    """What was sent, and what became of it.

    Attributes:
        states: how many fates of each state.
        before: how many of vectors from before the file, or forgotten since.
        newest: (netuid, mechid) to the vector that was confirmed last.
        turned: vectors that pay for other kinds than the one before of their mechanism: the validator's word.
    """

    states: dict[FateState, int] = field(default_factory=dict)
    before: int = 0
    newest: dict[tuple[int, int], Confirmed] = field(default_factory=dict)
    turned: int = 0
    _first: int | None = None
    _sent: dict[int, _Sent] = field(default_factory=dict)
    _confirmed: dict[Epoch, int] = field(default_factory=dict)
    _told: dict[tuple[int, int], _Told] = field(default_factory=dict)

    def begin(self, sequence: int) -> None:
        """Take note of a receipt of the file; before the first of them anything may stand."""
        if self._first is None:
            self._first = sequence

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """What was told of each mechanism."""
        return tuple(
            Mechanism(*key, one.kinds, one.since, one.block if one.waits else None)
            for key, one in sorted(self._told.items())
        )

    def sent(self, sequence: int, link: WeightsLink, document: WeightsDocument) -> None:
        """Take in a vector."""
        before = self._told.get((link.netuid, link.mechid))
        since = link.block if before is None else before.since
        self.turned += before is not None and before.kinds != document.kinds
        told = _Told(since, sequence, link.block, document.kinds, link.reason is None)
        self._told[link.netuid, link.mechid] = told
        flat = array("H", [value for pair in document.row for value in pair]).tobytes()
        self._sent[sequence] = _Sent(link, flat, tuple(_holders(document)))
        while len(self._sent) > _KEPT:
            oldest = next(iter(self._sent))
            del self._sent[oldest]
            self._first = oldest + 1

    def add(self, sequence: int, fate: FateLink) -> None:
        """Take in what became of a vector.

        Raises:
            WrongReceiptError: it follows nothing, or contradicts what was told.
        """
        if fate.state == "confirmed" and fate.block is None:
            raise WrongReceiptError("fate.block", "is missing: what is confirmed is in a block")
        self.states[fate.state] = self.states.get(fate.state, 0) + 1
        sent = self._sent.get(fate.weights)
        if sent is None:
            if fate.weights >= sequence or self._first is None or fate.weights >= self._first:
                raise WrongReceiptError("fate.weights", f"receipt {fate.weights} is no vector before this one")
            self.before += 1
            return
        if sent.link.reason is not None:
            raise WrongReceiptError("fate.weights", f"receipt {fate.weights} is of a vector that was not sent")
        self._follow(fate, sent)
        key = (sent.link.netuid, sent.link.mechid)
        if self._told[key].sequence == fate.weights:
            self._told[key] = self._told[key]._replace(waits=fate.state == "unknown")

    def _follow(self, fate: FateLink, sent: _Sent) -> None:
        link = sent.link
        epoch = (link.netuid, link.mechid, link.epoch)
        if (confirmed := self._confirmed.get(epoch)) is not None and (
            fate.state == "confirmed" or confirmed == fate.weights
        ):
            raise WrongReceiptError(
                "fate.state", f"the vector of epoch {link.epoch} in receipt {confirmed} is confirmed"
            )
        if fate.block is not None and fate.block < link.block:
            raise WrongReceiptError("fate.block", f"{fate.block} is before block {link.block} of the snapshot")
        if fate.state != "confirmed" or fate.block is None:
            return
        self._confirmed[epoch] = fate.weights
        while len(self._confirmed) > _KEPT_EPOCHS:
            del self._confirmed[next(iter(self._confirmed))]
        flat = array("H", sent.row)
        row = tuple(zip(flat[::2], flat[1::2], strict=True))
        self.newest[epoch[:2]] = Confirmed(*epoch, fate.weights, fate.block, row, sent.hotkeys)


def _holders(document: WeightsDocument) -> Iterator[str]:
    """Yield whose uid each of the row is, "" where the vector does not say; the same text is held once."""
    holders: Mapping[int, str] = {miner.uid: miner.hotkey for miner in document.miners}
    owner = document.owner
    for uid, _ in document.row:
        hotkey = owner.hotkey if owner is not None and owner.uid == uid else holders.get(uid, "")
        yield sys.intern(hotkey)
