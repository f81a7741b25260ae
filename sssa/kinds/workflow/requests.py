"""Request bodies of workflow tasks: the goal without what the result is judged by (SPEC 12, 13)."""

from collections.abc import Mapping
from typing import Final, get_args

from sssa.kinds.interface import Request
from sssa.protocol.answer import Role
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.limits import MAX_PLAN_BODY
from sssa.protocol.round import GoalTask
from sssa.protocol.runtime_image import RuntimeImage
from sssa.protocol.workflow_plan import workflow_bodies

_PATH: Final = "/v1/workflows"


def requests(round_id: str, _image: RuntimeImage, task: GoalTask, _bundle: bytes | None) -> Mapping[Role, Request]:
    """Return what each role is sent: the goal without what the result is judged by."""
    windows = {role: task.windows.of(role) for role in get_args(Role)}
    bodies = workflow_bodies(round_id, task.task_id, task.nonce, windows, task.goal)
    return {role: Request(_PATH, body, MAX_PLAN_BODY, sha256_hex(body)) for role, body in bodies.items()}
