"""Supply of workflow tasks: the goals of a round (SPEC 1, 13)."""

from dataclasses import dataclass

from sssa.protocol.draws import NONCE_BYTES, task_id
from sssa.protocol.round import GoalTask
from sssa.protocol.skill_types import SkillType
from sssa.protocol.workflow_plan import goal_sha256
from sssa.protocol.workflow_task import WorkflowTask, task_sha256
from sssa.scoring import Rules
from sssa.sources import RandomBytes
from validator.kinds.services import PackedTask
from validator.tasks.goals import GoalSource
from validator.tasks.source import Order


@dataclass(frozen=True, slots=True)
class Goals:
    """Supply of workflow tasks from a source of goals."""

    source: GoalSource
    random: RandomBytes

    async def fill(self, rules: Rules, round_id: str, order: Order, salt: bytes) -> list[PackedTask]:  # noqa: ARG002 - the `Supply` protocol has it
        """Return the round's workflow tasks. See `Supply`."""
        goals = await self.source.fetch(rules.groups.slots_per_type, order)
        return [
            PackedTask(goal_task(rules, round_id, slot, goal, self.random.token(NONCE_BYTES)), None)
            for slot, goal in enumerate(goals)
        ]


def goal_task(rules: Rules, round_id: str, slot: int, goal: WorkflowTask, nonce: bytes) -> GoalTask:
    """Return a workflow task as a task of the round; `source_sha256` is the hash of its document: it has no bundle."""
    source = task_sha256(goal)
    return GoalTask(
        task_id=task_id(round_id, SkillType.WORKFLOW.value, slot, source),
        skill_type=SkillType.WORKFLOW,
        slot=slot,
        source_sha256=source,
        bundle_sha256=goal_sha256(goal),
        nonce=nonce.hex(),
        windows=goal.windows or rules.windows_of(SkillType.WORKFLOW),
        goal=goal,
    )
