"""Supply of workflow tasks: the goals of a round, and the request bodies that members are sent (SPEC 1, 12, 13)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, get_args

from validator.kinds.interface import PackedTask, Request
from validator.protocol.answer import Role
from validator.protocol.canonical import sha256_hex
from validator.protocol.draws import NONCE_BYTES, task_id
from validator.protocol.limits import MAX_PLAN_BODY
from validator.protocol.round import GoalTask
from validator.protocol.runtime_image import RuntimeImage
from validator.protocol.skill_types import SkillType
from validator.protocol.workflow_plan import goal_sha256, workflow_bodies
from validator.protocol.workflow_task import WorkflowTask, task_sha256
from validator.scoring import Rules
from validator.sources import RandomBytes
from validator.tasks.goals import GoalSource
from validator.tasks.source import Order


@dataclass(frozen=True, slots=True)
class Goals:
    """Fills the slots of workflows."""

    source: GoalSource
    random: RandomBytes

    async def fill(self, rules: Rules, round_id: str, order: Order, salt: bytes) -> list[PackedTask]:  # noqa: ARG002 - the protocol's form
        """Return the round's workflow tasks. See `Supply`."""
        goals = await self.source.fetch(rules.groups.slots_per_type, order)
        return [
            PackedTask(goal_task(rules, round_id, slot, goal, self.random.token(NONCE_BYTES)), None)
            for slot, goal in enumerate(goals)
        ]


def goal_task(rules: Rules, round_id: str, slot: int, goal: WorkflowTask, nonce: bytes) -> GoalTask:
    """Return a workflow task as a task of the round; its document's hash takes the place of the source bundle's."""
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


_PATH: Final = "/v1/workflows"


def requests(round_id: str, _image: RuntimeImage, task: GoalTask, _bundle: bytes | None) -> Mapping[Role, Request]:
    """Return what each role is sent: the goal without what the result is judged by."""
    windows = {role: task.windows.of(role) for role in get_args(Role)}
    bodies = workflow_bodies(round_id, task.task_id, task.nonce, windows, task.goal)
    return {role: Request(_PATH, body, MAX_PLAN_BODY, sha256_hex(body)) for role, body in bodies.items()}
