"""Windows of 2.0.0: tallies of a (hotkey, type), and answer scores of a hotkey (SPEC 17).

Entries are packed, so that reading many miners costs little; only what a vector or an input asks for is unpacked.
"""

import math
from collections.abc import Callable
from struct import Struct as Packing
from typing import Final

from msgspec import Struct

from sssa.protocol.sssa import Verdict
from sssa.protocol.tallies import Presence, Record, Share, Tally

_TALLY: Final = Packing("<q?BBdddIIIIIIIII")
_SCORE: Final = Packing("<d")
_NONE: Final = 0xFFFFFFFF
_VERDICTS: Final[tuple[Verdict | None, ...]] = (None, "ALLOW", "REVIEW", "BLOCK")
TALLIES: Final = 100  # of a window
ANSWERS: Final = 100  # of a record
HALVED_ABOVE: Final = 50  # turns of a presence


class TallyWindow(Struct, frozen=True, gc=False):
    """The newest tallies of a (hotkey, type), oldest first, packed.

    Attributes:
        data: the tallies, each with the number of its answer.
        added: how many there ever were.
    """

    data: bytes = b""
    added: int = 0

    def tallies(self, most: int = TALLIES) -> list[Tally]:
        """Return the newest tallies, oldest first."""
        return [_unpacked(fields) for fields in _TALLY.iter_unpack(self.data[-most * _TALLY.size :])]

    def entered(self, answer: int, tally: Tally) -> "TallyWindow":
        """Return the window with one more entry."""
        return TallyWindow((self.data + _packed(answer, tally))[-TALLIES * _TALLY.size :], self.added + 1)

    def changed(self, answer: int, by: Callable[[Tally], Tally]) -> "TallyWindow":
        """Return the window with the entry of an answer changed; the same where the answer has none."""
        size = _TALLY.size
        for place in range(0, len(self.data), size):
            fields = _TALLY.unpack_from(self.data, place)
            if fields[0] == answer:
                packed = _packed(answer, by(_unpacked(fields)))
                return TallyWindow(self.data[:place] + packed + self.data[place + size :], self.added)
        return self


def _packed(answer: int, one: Tally) -> bytes:
    counts = [_NONE if count is None else count for count in (one.hits, one.said, one.known)]
    shares = [count for share in (one.capabilities, one.dependencies, one.rules) for count in share or (_NONE, _NONE)]
    numbers = [math.nan if number is None else number for number in (one.risk, one.risk_null, one.epsilon)]
    verdicts = (_VERDICTS.index(one.verdict), _VERDICTS.index(one.reference))
    return _TALLY.pack(answer, one.ok, *verdicts, *numbers, *counts, *shares)


def _unpacked(fields: tuple[float, ...]) -> Tally:
    _, ok, verdict, reference, risk, risk_null, epsilon, *counts = fields
    hits, findings, known = (None if count == _NONE else int(count) for count in counts[:3])
    capabilities, dependencies, rules = (_share(counts[place], counts[place + 1]) for place in (3, 5, 7))
    return Tally(
        ok=bool(ok),
        hits=hits,
        said=findings,
        known=known,
        verdict=_VERDICTS[int(verdict)],
        reference=_VERDICTS[int(reference)],
        risk=None if math.isnan(risk) else risk,
        risk_null=None if math.isnan(risk_null) else risk_null,
        capabilities=capabilities,
        dependencies=dependencies,
        rules=rules,
        epsilon=None if math.isnan(epsilon) else epsilon,
    )


def _share(got: float, offered: float) -> Share | None:
    return None if got == _NONE else (int(got), int(offered))


def with_answer(scores: bytes, score: float) -> bytes:
    """Return packed answer scores with one more."""
    return (scores + _SCORE.pack(score))[-ANSWERS * _SCORE.size :]


def record_of(scores: bytes) -> Record:
    """Return the record that packed answer scores make (D-38)."""
    return Record(math.fsum(score for (score,) in _SCORE.iter_unpack(scores)), len(scores) // _SCORE.size)


def presence_after(before: Presence, dispatched: int, answered: int) -> Presence:
    """Return presence after the dispatches of a round; large numbers are halved, so that the newest count (D-48)."""
    dispatched, answered = before.asked + dispatched, before.answered + answered
    return Presence(dispatched // 2, answered // 2) if dispatched > HALVED_ABOVE else Presence(dispatched, answered)
