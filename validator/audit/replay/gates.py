"""The gates once more, for stored answers of one round."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from validator.kinds.judging import Judged, Key, expected_of
from validator.kinds.registry import facts_of, kind_of
from validator.protocol.answer import Role
from validator.protocol.round import Judgement, RoundInput
from validator.scoring import version


@dataclass(slots=True)
class StoredGates:
    """Judges stored answers of one round, one after the other; keys are (task_id, hotkey)."""

    frozen: RoundInput
    _judged: dict[Key, Judged] = field(default_factory=dict)

    def judge(self, key: Key, role: Role, body: bytes, seconds: float, stored: Judgement | None) -> None:
        """Send an answer through its gates; a run cannot be had again, so that of `stored` stands for it."""
        task_id, hotkey = key
        task = next(task for task in self.frozen.tasks if task.task_id == task_id)
        expected = expected_of(self.frozen, task, hotkey, role)
        judged = kind_of(task).judge(expected, body, seconds)
        self._judged[key] = judged if isinstance(judged, Judged) else judged.as_ran(expected, seconds, stored)

    def judgements(self) -> Mapping[Key, Judgement]:
        """Return what was judged, facts that need the whole round filled in from the answers that there were."""
        facts = facts_of(version(self.frozen.scoring_version), self.frozen, self._judged)
        whole = {(answer.task_id, answer.hotkey): answer for answer in facts}
        return {key: whole.get(key, judged.result) for key, judged in self._judged.items()}
