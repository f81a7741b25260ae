"""Who a vector's uids belong to, held against the snapshots of the rounds around it: a weight is paid to a uid (D-28).

What the round before a vector and the one after it say alike was so in between: a hotkey that leaves does not come back
to the same uid before the next round. What changed between the two is the validator's word.
"""

from collections import Counter
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from validator.audit.log.lines import Line
from validator.protocol.receipt import WeightsDocument, WeightsLink
from validator.protocol.round import MetagraphSnapshot

_KEPT: Final = 8  # snapshots: a vector's is as new as that of the newest round, or a few blocks older
_MOST_DOUBTS: Final = 10_000
_OWNER, _EPOCH = "owner", "weights.epoch"
_UIDS, _EPOCHS = "uids of vectors", "epochs of vectors"

Uids = dict[str, int]


class Seen(NamedTuple):
    """What a round's snapshot says; `uids` is shared by snapshots in which nobody came or went."""

    block: int
    epoch: int
    tempo: int
    owner: str | None
    uids: Uids

    def says(self, hotkey: str | None) -> int | None:
        """Return the uid of a hotkey, None where it is not registered."""
        return None if hotkey is None else self.uids.get(hotkey)

    @property
    def heir(self) -> str | None:
        """The owner's hotkey, where it is registered."""
        return self.owner if self.says(self.owner) is not None else None


class _Doubt(NamedTuple):
    """One place where a vector says otherwise than the round before it: a miner's uid, the owner's hotkey or the epoch.

    `hotkey` is None where it is about who the owner is, or about the epoch.
    """

    path: str
    hotkey: str | None
    said: int | str | None


class _Doubted(NamedTuple):
    """A vector that says otherwise than the round before it."""

    line: Line
    block: int
    before: Seen
    doubts: list[_Doubt]


@dataclass(slots=True)
class Around:
    """Snapshots of a log's newest rounds, and what of its newest vectors is not said by one of them."""

    word: Counter[str] = field(default_factory=Counter)
    _seen: list[Seen] = field(default_factory=list)
    _doubted: list[_Doubted] = field(default_factory=list)

    def waiting(self) -> Counter[str]:
        """Return `word` with what only a later round could settle."""
        return self.word + Counter(_word_of(one) for vector in self._doubted for one in vector.doubts)

    def registered(self) -> AbstractSet[str]:
        """Return who is registered as of the newest round."""
        return self._seen[-1].uids.keys() if self._seen else frozenset()

    def add(self, snapshot: MetagraphSnapshot) -> None:
        """Take in the snapshot of the next round. Vectors that waited for it are held by `settle` first."""
        uids = {neuron.hotkey: neuron.uid for neuron in snapshot.neurons}
        if self._seen and self._seen[-1].uids == uids:
            uids = self._seen[-1].uids
        newest = Seen(snapshot.block, snapshot.epoch, snapshot.tempo, snapshot.owner_hotkey, uids)
        self._seen = [*self._seen, newest][-_KEPT:]

    def settle(self) -> None:
        """Hold the vectors before the newest round against it (FaultError: the rounds on both sides say otherwise)."""
        if not self._doubted or not self._seen:
            return
        after, doubted = self._seen[-1], self._doubted
        # A round may be frozen on an older snapshot than a vector that was told before it.
        self._doubted = [vector for vector in doubted if vector.block > after.block]
        for vector in doubted:
            for one in vector.doubts if vector.block <= after.block else ():
                wrong = _wrong(one, vector.before, after)
                if wrong is not None:
                    line = vector.line
                    if one.path == _EPOCH:  # its receipt says so
                        line = line._replace(number=line.number - 1, kind="receipt")
                    raise line.fault(wrong, one.path)
                self.word[_word_of(one)] += not _agrees(one, vector.before, after)

    def hold(self, line: Line, link: WeightsLink, document: WeightsDocument, left_out: AbstractSet[str]) -> None:
        """Hold a vector against the newest round before it; what that says otherwise waits for the next one.

        `left_out` are hotkeys with a window that it does not list.
        """
        before = next((one for one in reversed(self._seen) if one.block <= link.block), None)
        if before is None:
            self.word[_UIDS] += len(document.miners) + (document.owner is not None)
            return
        doubts = [
            _Doubt(path, hotkey, said)
            for path, hotkey, said in _said(document, left_out)
            if said != (before.heir if path == _OWNER else before.says(hotkey))
        ]
        if link.epoch != before.epoch:
            doubts.append(_Doubt(_EPOCH, None, link.epoch))
        room = max(0, _MOST_DOUBTS - sum(len(vector.doubts) for vector in self._doubted))
        self.word += Counter(_word_of(one) for one in doubts[room:])
        if doubts[:room]:
            self._doubted.append(_Doubted(line, link.block, before, doubts[:room]))


def _said(document: WeightsDocument, left_out: AbstractSet[str]) -> Iterator[tuple[str, str | None, int | str | None]]:
    """Yield place, hotkey and what is said: a miner's uid, None where it is left out; of the owner its hotkey."""
    yield from ((f"miners[{i}].uid", miner.hotkey, miner.uid) for i, miner in enumerate(document.miners))
    yield from (("miners", hotkey, None) for hotkey in sorted(left_out))
    yield _OWNER, None, None if document.owner is None else document.owner.hotkey
    if document.owner is not None:
        yield "owner.uid", document.owner.hotkey, document.owner.uid


def _wrong(one: _Doubt, before: Seen, after: Seen) -> str | None:
    """Return what does not hold; None where it may be so."""
    if one.path == _EPOCH:
        return _wrong_epoch(one, before, after)
    owner = one.path == _OWNER
    then, now = (before.heir, after.heir) if owner else (before.says(one.hotkey), after.says(one.hotkey))
    if then != now or one.said == now or (owner and before.owner != after.owner):
        return None
    if one.said is None and not owner:
        return f"without {one.hotkey}, whom the rounds before and after it have at uid {now}, with a window"
    return f"{one.said}, where the rounds before and after it have {now}"


def _wrong_epoch(one: _Doubt, before: Seen, after: Seen) -> str | None:
    if before.tempo != after.tempo or before.epoch <= int(one.said or 0) <= after.epoch:
        return None  # with another tempo epochs count otherwise
    return f"{one.said}, between rounds in epochs {before.epoch} and {after.epoch}"


def _agrees(one: _Doubt, before: Seen, after: Seen) -> bool:
    """Whether the round after a vector says the same."""
    if one.path == _EPOCH:
        return before.tempo == after.tempo
    return one.said == (after.heir if one.path == _OWNER else after.says(one.hotkey))


def _word_of(one: _Doubt) -> str:
    return _EPOCHS if one.path == _EPOCH else _UIDS
