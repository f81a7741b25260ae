"""Verification of a log's weight vectors: recomputation, uid owners, submission results (SPEC 16, D-28). No I/O."""

import sys
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from msgspec import UNSET

from sssa.log.chain import WrongReceiptError
from sssa.log.lines import Line, LineReader, Planned, Wrong
from sssa.log.vector import Claim, Recomputed, recompute
from sssa.protocol.receipt import FateLink, Receipt, RoundEnd, WeightsDocument, WeightsLink
from sssa.protocol.round import MetagraphSnapshot
from sssa.protocol.skill_types import Kind
from sssa.scoring import UnknownScoringVersionError, version
from sssa.state.mechanism_state import State
from sssa.state.round_end import record_vector

_SNAPSHOTS: Final = 8  # a vector's snapshot may be a few blocks older than that of the newest round
_MOST_DOUBTS: Final = 10_000
_OWNER, _EPOCH = "owner", "weights.epoch"
_UIDS, _EPOCHS = "uids of vectors", "epochs of vectors"

Uids = dict[str, int]


class SnapshotFacts(NamedTuple):
    """Facts of a round's snapshot. Consecutive snapshots with the same registrations share one `uids`."""

    block: int
    epoch: int
    tempo: int
    owner: str | None
    uids: Uids

    def uid_of(self, hotkey: str | None) -> int | None:
        """Return the uid of a hotkey, None where it is not registered."""
        return None if hotkey is None else self.uids.get(hotkey)

    @property
    def heir(self) -> str | None:
        """The owner's hotkey; None if it is not registered."""
        return self.owner if self.uid_of(self.owner) is not None else None


class _Doubt(NamedTuple):
    """One difference between a vector and the round before it: a miner's uid, the owner's hotkey or the epoch.

    `hotkey` is None where it is about who the owner is, or about the epoch.
    """

    path: str
    hotkey: str | None
    claimed: int | str | None


class _Doubted(NamedTuple):
    """A vector that differs from the round before it."""

    line: Line
    block: int
    before: SnapshotFacts
    doubts: list[_Doubt]


@dataclass(slots=True)
class RoundSnapshots:
    """Snapshots of a log's newest rounds, and claims of recent vectors that differ and wait for the next round.

    If the rounds before and after a vector agree on a uid, it held in between: a hotkey that leaves does not return to
    the same uid before the next round. A claim that changed between the two cannot be verified: `on_word` counts it.
    """

    on_word: Counter[str] = field(default_factory=Counter)
    _newest: list[SnapshotFacts] = field(default_factory=list)
    _doubted: list[_Doubted] = field(default_factory=list)

    def waiting(self) -> Counter[str]:
        """Return `on_word` with the claims that only a later round could settle."""
        return self.on_word + Counter(_word_of(one) for vector in self._doubted for one in vector.doubts)

    def registered(self) -> AbstractSet[str]:
        """Return who is registered as of the newest round."""
        return self._newest[-1].uids.keys() if self._newest else frozenset()

    def add(self, snapshot: MetagraphSnapshot) -> None:
        """Add the snapshot of the next round. Call `settle` next: it compares the vectors that waited for it."""
        uids = {neuron.hotkey: neuron.uid for neuron in snapshot.neurons}
        if self._newest and self._newest[-1].uids == uids:
            uids = self._newest[-1].uids
        newest = SnapshotFacts(snapshot.block, snapshot.epoch, snapshot.tempo, snapshot.owner_hotkey, uids)
        self._newest = [*self._newest, newest][-_SNAPSHOTS:]

    def settle(self) -> None:
        """Compare the vectors before the newest round with it (FaultError: both neighboring rounds contradict one)."""
        if not self._doubted or not self._newest:
            return
        after, doubted = self._newest[-1], self._doubted
        # A round may be frozen on an older snapshot than a vector that the log has before it.
        self._doubted = [vector for vector in doubted if vector.block > after.block]
        for vector in doubted:
            for one in vector.doubts if vector.block <= after.block else ():
                wrong = _wrong(one, vector.before, after)
                if wrong is not None:
                    line = vector.line
                    if one.path == _EPOCH:  # its receipt says so
                        line = line._replace(number=line.number - 1, kind="receipt")
                    raise line.fault(wrong, one.path)
                self.on_word[_word_of(one)] += not _agrees(one, vector.before, after)

    def compare(self, line: Line, link: WeightsLink, document: WeightsDocument, left_out: AbstractSet[str]) -> None:
        """Compare a vector with the newest round before it; claims that differ wait for the next round.

        `left_out` are hotkeys with a window that it does not list.
        """
        before = next((one for one in reversed(self._newest) if one.block <= link.block), None)
        if before is None:
            self.on_word[_UIDS] += len(document.miners) + (document.owner is not None)
            return
        doubts = [
            _Doubt(path, hotkey, claimed)
            for path, hotkey, claimed in _claims(document, left_out)
            if claimed != (before.heir if path == _OWNER else before.uid_of(hotkey))
        ]
        if link.epoch != before.epoch:
            doubts.append(_Doubt(_EPOCH, None, link.epoch))
        room = max(0, _MOST_DOUBTS - sum(len(vector.doubts) for vector in self._doubted))
        self.on_word += Counter(_word_of(one) for one in doubts[room:])
        if doubts[:room]:
            self._doubted.append(_Doubted(line, link.block, before, doubts[:room]))


def _claims(
    document: WeightsDocument, left_out: AbstractSet[str]
) -> Iterator[tuple[str, str | None, int | str | None]]:
    """Yield place, hotkey and claim: a miner's uid, None where it is left out; the owner's hotkey."""
    yield from ((f"miners[{i}].uid", miner.hotkey, miner.uid) for i, miner in enumerate(document.miners))
    yield from (("miners", hotkey, None) for hotkey in sorted(left_out))
    yield _OWNER, None, None if document.owner is None else document.owner.hotkey
    if document.owner is not None:
        yield "owner.uid", document.owner.hotkey, document.owner.uid


def _wrong(one: _Doubt, before: SnapshotFacts, after: SnapshotFacts) -> str | None:
    """Return the fault of a doubted claim; None where it may be true."""
    if one.path == _EPOCH:
        return _wrong_epoch(one, before, after)
    owner = one.path == _OWNER
    then, now = (before.heir, after.heir) if owner else (before.uid_of(one.hotkey), after.uid_of(one.hotkey))
    if then != now or one.claimed == now or (owner and before.owner != after.owner):
        return None
    if one.claimed is None and not owner:
        return f"without {one.hotkey}, whom the rounds before and after it have at uid {now}, with a window"
    return f"{one.claimed}, where the rounds before and after it have {now}"


def _wrong_epoch(one: _Doubt, before: SnapshotFacts, after: SnapshotFacts) -> str | None:
    if before.tempo != after.tempo or before.epoch <= int(one.claimed or 0) <= after.epoch:
        return None  # with another tempo epochs count otherwise
    return f"{one.claimed}, between rounds in epochs {before.epoch} and {after.epoch}"


def _agrees(one: _Doubt, before: SnapshotFacts, after: SnapshotFacts) -> bool:
    """Return whether the round after a vector confirms the uid."""
    if one.path == _EPOCH:
        return before.tempo == after.tempo
    return one.claimed == (after.heir if one.path == _OWNER else after.uid_of(one.hotkey))


def _word_of(one: _Doubt) -> str:
    return _EPOCHS if one.path == _EPOCH else _UIDS


_KEPT: Final = 1_024  # vectors, with their rows; of the result of older ones a log's word is taken
_KEPT_EPOCHS: Final = 100_000

Epoch = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Confirmed:
    """The newest vector of a mechanism on chain: block of inclusion, [uid, u16] by uid, hotkeys of these uids."""

    netuid: int
    mechid: int
    epoch: int
    sequence: int
    block: int
    row: tuple[tuple[int, int], ...]
    hotkeys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mechanism:
    """Summary of a mechanism's vectors in a log.

    Attributes:
        kinds: what its newest vector pays for.
        since: block of its first vector in the file.
        open_since: block of its newest vector, if it was submitted and the log does not have its result.
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


class _MechanismState(NamedTuple):
    """Vectors of a mechanism: first block; newest number, block and kinds, and whether its fate is open."""

    since: int
    sequence: int
    block: int
    kinds: tuple[Kind, ...]
    waits: bool


@dataclass(slots=True)
class Fates:
    """Results of submissions.

    Attributes:
        states: number of results in each state.
        before: number of results of vectors that predate the file, or were evicted.
        newest: (netuid, mechid) to the vector that was confirmed last.
        turned: number of vectors that pay for other kinds than the previous one of their mechanism; not verifiable.
    """

    states: Counter[str] = field(default_factory=Counter)
    before: int = 0
    newest: dict[tuple[int, int], Confirmed] = field(default_factory=dict)
    turned: int = 0
    _first: int | None = None
    _sent: dict[int, _Sent] = field(default_factory=dict)
    _confirmed: dict[Epoch, int] = field(default_factory=dict)
    _by_mechanism: dict[tuple[int, int], _MechanismState] = field(default_factory=dict)

    def begin(self, sequence: int) -> None:
        """Record the first receipt. Results of earlier vectors cannot be checked."""
        if self._first is None:
            self._first = sequence

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """Summary of each mechanism's vectors."""
        return tuple(
            Mechanism(*key, one.kinds, one.since, one.block if one.waits else None)
            for key, one in sorted(self._by_mechanism.items())
        )

    def sent(self, sequence: int, link: WeightsLink, document: WeightsDocument) -> None:
        """Take in a vector."""
        before = self._by_mechanism.get((link.netuid, link.mechid))
        since = link.block if before is None else before.since
        self.turned += before is not None and before.kinds != document.kinds
        state = _MechanismState(since, sequence, link.block, document.kinds, link.reason is None)
        self._by_mechanism[link.netuid, link.mechid] = state
        flat = array("H", [value for pair in document.row for value in pair]).tobytes()
        self._sent[sequence] = _Sent(link, flat, tuple(_holders(document)))
        while len(self._sent) > _KEPT:
            oldest = next(iter(self._sent))
            del self._sent[oldest]
            self._first = oldest + 1

    def add(self, sequence: int, fate: FateLink) -> None:
        """Take in the fate of a vector (WrongReceiptError: no such vector exists, or its fates contradict)."""
        if fate.state == "confirmed" and fate.block is None:
            raise WrongReceiptError("fate.block", "is missing: what is confirmed is in a block")
        self.states[fate.state] += 1
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
        if self._by_mechanism[key].sequence == fate.weights:
            self._by_mechanism[key] = self._by_mechanism[key]._replace(waits=fate.state == "unknown")

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


_MOST_OPEN: Final = 64  # rounds at once
_MOST_WAITING: Final = 64  # vectors that were computed while one round was open
_MOST_MECHANISMS: Final = 256


@dataclass(slots=True)
class Vectors:
    """The verified vectors of the part of a log that was read.

    `counted` uses the field names of `Verified`; `on_word` counts claims that cannot be verified.
    """

    fates: Fates = field(default_factory=Fates)
    snapshots: RoundSnapshots = field(default_factory=RoundSnapshots)
    counted: Counter[str] = field(default_factory=Counter)
    on_word: Counter[str] = field(default_factory=Counter)
    _waiting: list[Claim] = field(default_factory=list)
    _blocks: dict[tuple[int, int], int] = field(default_factory=dict)

    @property
    def waiting(self) -> int:
        """Number of vectors that depend on a round that was open when they were computed."""
        return len(self._waiting)

    def add(
        self, reader: LineReader, receipt_line: Line, receipt: Receipt, next_round: int | None, state: State
    ) -> State:
        """Add the vector or the submission result of a receipt, if it has one; return the state after it (FaultError).

        `next_round` is the first round that has not ended; None where the file has no round yet.
        """
        self.fates.begin(receipt.sequence)
        if receipt.fate is not UNSET:
            try:
                self.fates.add(receipt.sequence, receipt.fate)
            except WrongReceiptError as wrong:
                raise receipt_line.fault(wrong.what, wrong.path) from None
        if receipt.weights is UNSET:
            return state
        link = receipt.weights
        line = reader.require("weights", None, link.sha256)
        document = line.parsed(WeightsDocument)
        line.require_canonical(document)
        self.fates.sent(receipt.sequence, link, document)
        self.counted["vectors"] += 1
        receipt_line.refuse(self._link_faults(link, state))
        self._blocks[link.netuid, link.mechid] = link.block
        line.refuse(_document_faults(link, document, next_round, state))
        claim = self._claim(line.bare(), link, document, next_round, state)
        if not claim.waits:
            self._judge(claim, receipt.validator_hotkey)
        elif len(self._waiting) == _MOST_WAITING:
            raise line.fault(f"more than {_MOST_WAITING} while one round was open")
        else:
            self._waiting.append(claim)
        return record_vector(state, (link.netuid, link.mechid), link.epoch, document.round_id)

    def end(self, end: RoundEnd, planned: Planned | None, hotkey: str) -> None:
        """Take in a round that ended: vectors that were computed while it was open have waited for it (FaultError)."""
        if planned is not None:
            self.snapshots.add(planned.frozen.snapshot)
            self.snapshots.settle()
        for claim in self._waiting:
            opened = None if planned is None else (planned.frozen, planned.plan)
            claim.open_round(end.index, opened, readable=end.state != "abandoned")
        ready = [claim for claim in self._waiting if not claim.waits]
        self._waiting = [claim for claim in self._waiting if claim.waits]
        for claim in ready:
            self._judge(claim, hotkey)

    def _link_faults(self, link: WeightsLink, state: State) -> Iterator[Wrong]:
        try:
            version(link.scoring_version)
        except UnknownScoringVersionError as error:
            yield "weights.scoring_version", str(error)
        netuid = state.shared.netuid
        if netuid not in {None, link.netuid}:
            yield "weights.netuid", f"{link.netuid}; the rounds are of {netuid}"
        newest = self._blocks.get((link.netuid, link.mechid), 0)
        if link.block < newest:
            yield "weights.block", f"{link.block} is before {newest}, of the mechanism's vector before it"

    def _claim(
        self, line: Line, link: WeightsLink, document: WeightsDocument, next_round: int | None, state: State
    ) -> Claim:
        before = _since_before(link, state)
        listed = {miner.hotkey for miner in document.miners}
        with_window = {hotkey for hotkey, miner in state.miners.items() if miner.has_window}
        return Claim(
            line=line,
            link=link,
            document=document,
            state=state,
            opened=next_round,
            since_known=before is not None or (state.whole and document.since_round is None),
            left_out=len(with_window - listed),
            omitted=frozenset((self.snapshots.registered() & with_window) - listed),
        )

    def _judge(self, claim: Claim, hotkey: str) -> None:
        recomputed: Recomputed = recompute(claim, hotkey)
        self.snapshots.compare(claim.line, claim.link, claim.document, claim.omitted - {hotkey})
        self.counted["vectors_recomputed"] += recomputed.whole
        self.counted.update(
            scores_on_word=recomputed.scores, reasons_on_word=recomputed.reasons, left_out=recomputed.left_out
        )
        opened = sum(one.block > claim.link.block for one in claim.state.shared.rounds)
        self.on_word["rounds open at a vector and frozen behind it"] += opened


def _since_before(link: WeightsLink, state: State) -> int | None:
    """Return the epoch of the vector before, None where the file does not show that one."""
    epochs = state.shared.vectors.get((link.netuid, link.mechid), {})
    return max((epoch for epoch in epochs if epoch < link.epoch), default=None)


def _document_faults(
    link: WeightsLink, document: WeightsDocument, next_round: int | None, state: State
) -> Iterator[Wrong]:
    if next_round is not None and not 0 <= int(document.next_round) - next_round <= _MOST_OPEN:
        yield "next_round", f"{document.next_round}, where {next_round} is the first round that had not ended"
    vectors = state.shared.vectors
    if len(vectors) >= _MOST_MECHANISMS and not vectors.get((link.netuid, link.mechid)):
        yield "", f"of more than {_MOST_MECHANISMS} mechanisms in one file"
    before = _since_before(link, state)
    since = None if before is None else vectors[link.netuid, link.mechid][before]
    if before is not None and since != document.since_round:
        yield "since_round", f"{document.since_round}, where {since} is the round of epoch {before}'s vector"
    for i, miner in enumerate(document.miners):
        if state.whole and not state.miner(miner.hotkey).has_window:
            yield f"miners[{i}]", "has no window"
