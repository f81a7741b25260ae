"""Who declares what, round after round: a bit for each pair, so that rounds which differ in a few cost little."""

from collections.abc import Iterable
from dataclasses import dataclass, field

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Declared:
    """Pairs of hotkey and skill type. `numbers` is shared by all rounds of a log, and only grows."""

    bits: int
    numbers: dict[Pair, int]

    def __contains__(self, pair: object) -> bool:
        number = self.numbers.get(pair)  # type: ignore[call-overload]
        return number is not None and bool(self.bits >> number & 1)


@dataclass(slots=True)
class Declarations:
    """Gives each pair its number."""

    _numbers: dict[Pair, int] = field(default_factory=dict)

    def of(self, pairs: Iterable[Pair]) -> Declared:
        """Return these pairs as one value."""
        numbers = {self._numbers.setdefault(pair, len(self._numbers)) for pair in pairs}
        bits = bytearray(len(self._numbers) // 8 + 1)
        for number in numbers:
            bits[number // 8] |= 1 << number % 8
        return Declared(int.from_bytes(bits, "little"), self._numbers)
