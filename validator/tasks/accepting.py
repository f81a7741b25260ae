"""Whether what a task server sent is taken (SPEC 13). Pure; heavy for large lists and bundles."""

from dataclasses import dataclass
from datetime import datetime

from validator.protocol import limits
from validator.protocol.canonical import sha256_hex
from validator.protocol.signatures import verify_document
from validator.protocol.skill_types import SkillType
from validator.protocol.strict_json import JsonError, SchemaError, decode
from validator.protocol.task import Task
from validator.tasks.checks import sourced_task
from validator.tasks.source import SourcedTask, TaskError, TaskSourceError
from validator.tasks.wire import TasksAnswer, check_fresh


@dataclass(frozen=True, slots=True)
class Asked:
    """What a list of tasks must answer."""

    server_hotkey: str
    nonce: str
    skill_type: SkillType
    count: int
    now: datetime


def accept_tasks(body: bytes, asked: Asked) -> tuple[Task, ...]:
    """Return the tasks of an answer to `GET /v1/tasks`.

    Raises:
        TaskSourceError: anything in it is wrong.
    """
    try:
        answer = decode(body, TasksAnswer, limit=limits.MAX_TASKS_BODY)
        if not verify_document(answer, asked.server_hotkey):
            raise SchemaError("not signed by the pinned server hotkey - at `signature`")
        if answer.request_nonce != asked.nonce:
            raise SchemaError("the answer to another request - at `request_nonce`")
        check_fresh(answer, asked.now)
        if len(answer.tasks) > asked.count:
            raise SchemaError(f"{len(answer.tasks)} tasks, asked for {asked.count} - at `tasks`")
        if any(task.skill_type is not asked.skill_type for task in answer.tasks):
            raise SchemaError("a task of another skill type - at `tasks`")
        if len({task.bundle_sha256.lower() for task in answer.tasks}) != len(answer.tasks):
            raise SchemaError("the same bundle twice - at `tasks`")
    except JsonError as error:
        raise TaskSourceError(f"task list: {error.detail}") from None
    return answer.tasks


def accept_bundle(task: Task, bundle: bytes) -> SourcedTask:
    """Return a task with its bundle.

    Raises:
        TaskSourceError: the bundle is another one, or anything in it is wrong.
    """
    if sha256_hex(bundle) != task.bundle_sha256.lower():
        raise TaskSourceError("a bundle does not hash to what its task says - at `bundle_sha256`")
    try:
        return sourced_task(task, bundle)
    except TaskError as error:
        raise TaskSourceError(f"task: {error.detail}") from None
