"""The gates once more, for stored answers to one task."""

from dataclasses import dataclass, field

from validator.kinds.judging import Judged, expected_of
from validator.kinds.registry import kind_of
from validator.protocol.answer import Role
from validator.protocol.results import Packed, Rejection
from validator.protocol.round import RoundInput, RoundTask
from validator.scoring import version


@dataclass(slots=True)
class StoredGates:
    """Judges stored answers to a task of a round, one after the other."""

    frozen: RoundInput
    task: RoundTask
    _judged: dict[str, Judged] = field(default_factory=dict)

    def judge(self, hotkey: str, role: Role, body: bytes, seconds: float, stored: Packed | Rejection | None) -> None:
        """Send an answer through its gates; a run cannot be had again, so that of `stored` stands for it."""
        expected = expected_of(self.frozen, self.task, hotkey, role)
        judged = kind_of(self.task).judge(expected, body, seconds)
        self._judged[hotkey] = judged if isinstance(judged, Judged) else judged.as_ran(expected, seconds, stored)

    def judgements(self) -> dict[str, Packed | Rejection]:
        """Return what was judged, by hotkey; what needs the whole group is filled in from the answers there were."""
        found = {hotkey: judged.result for hotkey, judged in self._judged.items()}
        for answer in kind_of(self.task).facts(version(self.frozen.scoring_version), self._judged):
            one = found[answer.hotkey]
            if isinstance(one, Packed):
                found[answer.hotkey] = one.with_fields(answer)
        return found
