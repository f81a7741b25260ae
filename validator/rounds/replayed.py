"""The gates for a round that is computed again from what is stored."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from validator.audit.replay.again import Judgement
from validator.protocol.answer import Role
from validator.protocol.reasons import Reason
from validator.protocol.round import RoundInput, Submission, WorkflowSubmission
from validator.protocol.workflow_task import WorkflowTask
from validator.rounds.expected import expected_of
from validator.rounds.gates import Expected
from validator.rounds.judge import Judged, judge, reject_answer
from validator.rounds.plans import AcceptedPlan, judge_plan
from validator.rounds.semantics import with_semantics
from validator.scoring import version
from validator.store import DispatchKey


@dataclass(slots=True)
class StoredGates:
    """Judges stored answers of one round, one after the other."""

    frozen: RoundInput
    _judged: dict[DispatchKey, Judged] = field(default_factory=dict)

    def judge(self, key: DispatchKey, role: Role, body: bytes, seconds: float, stored: Judgement | None) -> None:
        """Send an answer through its gates; a run cannot be had again, so that of `stored` stands for it."""
        task = next(task for task in self.frozen.tasks if task.task_id == key.task_id)
        expected = expected_of(self.frozen, task, key.hotkey, role)
        if task.workflow is None:
            self._judged[key] = judge(expected, body, seconds)
            return
        plan = judge_plan(expected, body, seconds)
        self._judged[key] = plan if isinstance(plan, Judged) else _ran(expected, task.workflow, plan, seconds, stored)

    def judgements(self) -> Mapping[DispatchKey, Judgement]:
        """Return what was judged, gate 7 filled in from the answers that there were."""
        passed = {key: j.result for key, j in self._judged.items() if isinstance(j.result, Submission)}
        signatures = {
            (key.task_id, key.hotkey): j.signatures for key, j in self._judged.items() if j.signatures is not None
        }
        filled = with_semantics(version(self.frozen.scoring_version), list(passed.values()), signatures)
        whole = dict(zip(passed, filled, strict=True))
        return {key: whole.get(key) or judged.result for key, judged in self._judged.items()}


def _ran(
    expected: Expected, task: WorkflowTask, plan: AcceptedPlan, seconds: float, stored: Judgement | None
) -> Judged:
    """Return the judgement of an accepted plan: its stored run, the quality judged again where it can be."""
    if not isinstance(stored, WorkflowSubmission):
        return reject_answer(expected, Reason.ACCEPTED, seconds)  # a difference that names what it should have been
    scored_by = version(expected.scoring_version)
    quality = scored_by.read_quality(task, scored_by.result_of(plan.plan, stored.run))
    again = msgspec.structs.replace(
        stored,
        plan=plan.plan,
        plan_sha256=plan.sha256,
        seconds=seconds,
        role=expected.role,
        quality=stored.quality if quality is None else quality,
    )
    return Judged(again, Reason.ACCEPTED)
