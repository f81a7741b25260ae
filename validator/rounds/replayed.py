"""The gates for a round that is computed again from what is stored."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from validator.protocol.answer import Role
from validator.protocol.round import Rejection, RoundInput, Submission
from validator.protocol.scoring_version import SCORING_VERSION
from validator.rounds.expected import expected_of
from validator.rounds.judge import Judged, judge
from validator.rounds.semantics import with_semantics
from validator.store import DispatchKey


@dataclass(slots=True)
class StoredGates:
    """Judges stored answers of one round, one after the other."""

    frozen: RoundInput
    version: str = SCORING_VERSION
    _judged: dict[DispatchKey, Judged] = field(default_factory=dict)

    def judge(self, key: DispatchKey, role: Role, body: bytes, seconds: float) -> None:
        """Send an answer through gates 1 to 6."""
        task = next(task for task in self.frozen.tasks if task.task_id == key.task_id)
        self._judged[key] = judge(expected_of(self.frozen, task, key.hotkey, role), body, seconds)

    def judgements(self) -> Mapping[DispatchKey, Submission | Rejection]:
        """Return what was judged, gate 7 filled in from the answers that there were."""
        passed = {key: j.result for key, j in self._judged.items() if isinstance(j.result, Submission)}
        signatures = {
            (key.task_id, key.hotkey): j.signatures for key, j in self._judged.items() if j.signatures is not None
        }
        whole = dict(zip(passed, with_semantics(list(passed.values()), signatures), strict=True))
        return {key: whole.get(key) or judged.result for key, judged in self._judged.items()}
