"""The score windows of a log's miners: what its rounds added, the newest of each miner and type (SPEC 11)."""

from array import array
from dataclasses import dataclass, field
from typing import Final

from validator.protocol.canonical import sha256_hex
from validator.protocol.round import RoundInput, RoundOutcome
from validator.scoring import VERSIONS, Version

_KEPT: Final = max(version.rules.pay.window for version in VERSIONS.values())


@dataclass(slots=True)
class _Window:
    """One window: values, oldest first, the answer of each, and how many there ever were."""

    values: "array[float]" = field(default_factory=lambda: array("d"))
    answers: "array[int]" = field(default_factory=lambda: array("q"))
    added: int = 0

    def add(self, answer: int, value: float) -> None:
        self.values.append(value)
        self.answers.append(answer)
        self.added += 1
        if len(self.values) > 2 * _KEPT:
            del self.values[:-_KEPT], self.answers[:-_KEPT]


@dataclass(slots=True)
class Windows:
    """Windows by hotkey and skill type; 16 bytes an entry, so that a year of them has room."""

    _windows: dict[str, dict[str, _Window]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._windows)

    def __contains__(self, hotkey: object) -> bool:
        return hotkey in self._windows

    def newest(self, hotkey: str, skill_type: str, most: int) -> "array[float]":
        """Return the newest `most` values of a window, oldest first."""
        found = self._windows.get(hotkey, {}).get(skill_type)
        return array("d") if found is None else found.values[-most:]

    def added(self, hotkey: str, skill_type: str) -> int:
        """Return how many entries the log added to a window."""
        found = self._windows.get(hotkey, {}).get(skill_type)
        return 0 if found is None else found.added

    def settle(self, version: Version, frozen: RoundInput, outcome: RoundOutcome) -> None:
        """Take in what a settled round added, late and its own, and what it struck (SPEC 16, D-30)."""
        for hotkey, skill_type, task_id, value in (
            *version.filled_entries(frozen),
            *version.window_entries(frozen, outcome),
        ):
            window = self._windows.setdefault(hotkey, {}).setdefault(str(skill_type), _Window())
            window.add(_answer(frozen.index, task_id), value)
        for struck in version.struck_entries(frozen):
            found = self._windows.get(struck.hotkey, {}).get(str(struck.skill_type))
            answer = _answer(int(struck.round_id), struck.task_id)
            if found is not None and answer in found.answers:
                found.values[found.answers.index(answer)] = 0.0


def _answer(round_id: int, task_id: str) -> int:
    return int.from_bytes(bytes.fromhex(sha256_hex(f"{round_id}|{task_id}".encode())[:16]), signed=True)
