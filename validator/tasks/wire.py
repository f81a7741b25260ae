"""Messages between task server and client, and their checks (SPEC 13). Pure."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final
from urllib.parse import parse_qsl, urlencode

from msgspec import Meta

from sssa.protocol import limits
from sssa.protocol.canonical import sha256_hex
from sssa.protocol.errors import ValidatorError
from sssa.protocol.signatures import verify_document
from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType
from sssa.protocol.sssa import Document, Signature, Text
from sssa.protocol.strict_json import JsonError, SchemaError, decode
from sssa.protocol.task import Task
from sssa.protocol.times import parse_time
from validator.tasks.folder import sourced_task
from validator.tasks.source import SourcedTask, TaskError, TaskSourceError

TASKS_PATH: Final = "/v1/tasks"
BUNDLES_PATH: Final = "/v1/bundles/"
MAX_COUNT: Final = 16
MAX_TARGET: Final = 32 * 1024  # bytes of a request target: 256 excluded hashes take 16.6 KiB
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)
_COUNT = re.compile(r"[1-9][0-9]?", re.ASCII)
_NAMES = frozenset({"skill_type", "count", "exclude"})


class QueryError(ValidatorError):
    """Not a query for tasks."""


@dataclass(frozen=True, slots=True)
class TaskQuery:
    """A validator's request for tasks: `exclude` holds lower-case hex hashes of bundles."""

    skill_type: SkillType
    count: int
    exclude: frozenset[str]


class TasksAnswer(Document, frozen=True):
    """The signed answer to `GET /v1/tasks`. `request_nonce` is the request's btauth nonce in decimal, as a string."""

    tasks: Annotated[tuple[Task, ...], Meta(max_length=MAX_COUNT)]
    issued_at: Text
    request_nonce: Annotated[str, Meta(pattern=r"\A[0-9]{1,20}\Z")]
    signature: Signature


def tasks_target(skill_type: SkillType, count: int, exclude: Collection[str]) -> str:
    """Return the request target exactly as it is sent and signed; at most 256 of `exclude`, sorted, are named."""
    query = {"skill_type": skill_type.value, "count": str(count)}
    if exclude:
        query["exclude"] = ",".join(sorted(exclude)[: limits.MAX_EXCLUDE])
    return f"{TASKS_PATH}?{urlencode(query, safe=',')}"


def parse_query(text: str) -> TaskQuery:
    """Return the query that the part of a target after `?` holds.

    Raises:
        QueryError: an unknown, missing or repeated name, a count outside 1 to 16, more than 256 hashes, or no hashes.
    """
    try:
        pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=True, max_num_fields=len(_NAMES))
    except ValueError:
        raise QueryError("name skill_type and count, and exclude where wanted, once each") from None
    query = dict(pairs)
    if len(query) != len(pairs) or not {"skill_type", "count"} <= query.keys() <= _NAMES:
        raise QueryError("name skill_type and count, and exclude where wanted, once each")
    if query["skill_type"] not in ASSESSED_TYPES:
        raise QueryError(f"must be one of {', '.join(ASSESSED_TYPES)} - at `skill_type`")
    if not _COUNT.fullmatch(query["count"]) or int(query["count"]) > MAX_COUNT:
        raise QueryError(f"must be 1 to {MAX_COUNT} - at `count`")
    return TaskQuery(SkillType(query["skill_type"]), int(query["count"]), _hashes(query.get("exclude", "")))


def _hashes(text: str) -> frozenset[str]:
    hashes = text.lower().split(",") if text else []
    if len(hashes) > limits.MAX_EXCLUDE:
        raise QueryError(f"at most {limits.MAX_EXCLUDE} hashes - at `exclude`")
    if not all(map(is_sha256, hashes)):
        raise QueryError("must be 64 hex digits each, joined by commas - at `exclude`")
    return frozenset(hashes)


def is_sha256(text: str) -> bool:
    """Return whether `text` is 64 lower-case hex digits."""
    return _SHA256.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class TasksQuery:
    """Requirements that a list of tasks must meet."""

    server_hotkey: str
    nonce: str
    skill_type: SkillType
    count: int
    now: datetime


def accept_tasks(body: bytes, query: TasksQuery) -> tuple[Task, ...]:
    """Return the tasks of an answer to `GET /v1/tasks`. Heavy for a large list.

    Raises:
        TaskSourceError: anything in it is wrong.
    """
    try:
        answer = decode(body, TasksAnswer, limit=limits.MAX_TASKS_BODY)
        if not verify_document(answer, query.server_hotkey):
            raise SchemaError("not signed by the pinned server hotkey - at `signature`")
        if answer.request_nonce != query.nonce:
            raise SchemaError("the answer to another request - at `request_nonce`")
        age = (query.now - parse_time(answer.issued_at, "issued_at")).total_seconds()
        if abs(age) > limits.CLOCK_TOLERANCE_S:
            raise SchemaError(f"{limits.CLOCK_TOLERANCE_S} s around now are allowed - at `issued_at`")
        if len(answer.tasks) > query.count:
            raise SchemaError(f"{len(answer.tasks)} tasks, asked for {query.count} - at `tasks`")
        if any(task.skill_type is not query.skill_type for task in answer.tasks):
            raise SchemaError("a task of another skill type - at `tasks`")
        if len({task.bundle_sha256.lower() for task in answer.tasks}) != len(answer.tasks):
            raise SchemaError("the same bundle twice - at `tasks`")
    except JsonError as error:
        raise TaskSourceError(f"task list: {error.detail}") from None
    return answer.tasks


def accept_bundle(task: Task, bundle: bytes) -> SourcedTask:
    """Return a task with its bundle. Heavy for a large one.

    Raises:
        TaskSourceError: the bundle is another one, or anything in it is wrong.
    """
    if sha256_hex(bundle) != task.bundle_sha256.lower():
        raise TaskSourceError("a bundle does not hash to what its task says - at `bundle_sha256`")
    try:
        return sourced_task(task, bundle)
    except TaskError as error:
        raise TaskSourceError(f"task: {error.detail}") from None
