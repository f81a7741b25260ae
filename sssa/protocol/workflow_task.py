"""A workflow task: a goal, the services it can be reached with, and how the result is judged (SPEC 12)."""

import re
from collections.abc import Callable
from typing import Annotated, Any, Final, Literal, Protocol, cast
from urllib.parse import urlsplit

import re2
from msgspec import UNSET, Meta, UnsetType

from sssa.protocol import limits
from sssa.protocol.canonical import NotCanonicalError, canonical_bytes, digest
from sssa.protocol.errors import ValidatorError
from sssa.protocol.signatures import is_hotkey
from sssa.protocol.sssa import Description, Document, Text
from sssa.protocol.strict_json import SchemaError, decode
from sssa.protocol.task import Windows, check_windows
from sssa.protocol.text import printable

_WORD: Final = re.compile(r"[0-9a-z]+")
_PATTERN_MEMORY: Final = 1024 * 1024  # bytes of a compiled pattern


class PatternError(ValidatorError):
    """Not a pattern of RE2's syntax, or too large a one."""


class Pattern(Protocol):
    """A compiled pattern."""

    def search(self, text: str) -> object | None:
        """Return the first match, None without one."""


def rouge_words(text: str) -> list[str]:
    """Return the words of ROUGE: runs of ASCII letters and digits, in lower case."""
    return _WORD.findall(text.lower())


def compile_pattern(pattern: str) -> Pattern:
    """Return `pattern` ready to search, case-insensitively, in time linear in the text.

    RE2 has neither backtracking nor time-outs: the same text gives the same answer on every machine.

    Raises:
        PatternError: backreferences and look-around are not in RE2's syntax.
    """
    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    options.max_mem = _PATTERN_MEMORY
    try:
        return cast("Pattern", re2.compile(pattern, options))
    except re2.error as error:
        raise PatternError(f"not an RE2 pattern: {printable(_pattern_fault(error))}") from None


def _pattern_fault(error: Exception) -> str:
    argument = error.args[0] if error.args else ""
    return argument.decode(errors="replace") if isinstance(argument, bytes) else str(argument)


WorkflowType = Literal["code", "rag", "agent", "data_transform"]
Name = Annotated[str, Meta(pattern=r"\A[0-9A-Za-z_.-]{1,64}\Z")]
Tao = Annotated[float, Meta(ge=0, le=limits.MAX_TAO)]
Duration = Annotated[float, Meta(ge=0, le=limits.MAX_WORKFLOW_SECONDS)]
Code = Annotated[str, Meta(max_length=limits.MAX_STEP_CODE)]
OutputText = Annotated[str, Meta(max_length=limits.MAX_STEP_TEXT)]

_REFERENCES: Final[dict[WorkflowType, tuple[str, ...]]] = {
    "code": ("tests",),
    "rag": ("text",),
    "agent": ("checklist",),
    "data_transform": ("expected", "expected_text"),
}


class Constraints(Document, frozen=True):
    """Limits of a run; a limit of 0 or less is a bad task (D-12). `allowed_services` null: all services."""

    max_budget_tao: Annotated[float, Meta(gt=0, le=limits.MAX_TAO)]
    max_latency_seconds: Annotated[float, Meta(gt=0, le=limits.MAX_WORKFLOW_SECONDS)]
    allowed_services: Annotated[tuple[Name, ...], Meta(min_length=1, max_length=limits.MAX_TOOLS)] | None


class Tool(Document, frozen=True):
    """One action of one service: what it usually takes, where it is called, and the hotkey that signs its answers."""

    service: Name
    action: Name
    avg_cost_tao: Tao
    avg_latency_seconds: Duration
    url: Text
    hotkey: Text


class Criterion(Document, frozen=True):
    """One line of a checklist: a keyword, a key of the JSON object, or an RE2 pattern that has to occur."""

    type: Literal["keyword", "json_key", "regex"]
    value: Annotated[str, Meta(max_length=limits.MAX_CRITERION)]


class Reference(Document, frozen=True):
    """Criterion for the result: exactly the one field that the task's type calls for.

    Attributes:
        tests: code: a Python test module that imports the result as `solution`.
        text: rag: a text that says what a good result says.
        checklist: agent: what has to occur.
        expected: data_transform: the JSON that has to come out.
        expected_text: data_transform, in place of `expected`: the text that has to come out, which need not be JSON;
            only in tasks of version 1.1.
    """

    tests: Code | UnsetType = UNSET
    text: OutputText | UnsetType = UNSET
    checklist: Annotated[tuple[Criterion, ...], Meta(max_length=limits.MAX_CHECKLIST)] | UnsetType = UNSET
    expected: Any = UNSET
    expected_text: OutputText | UnsetType = UNSET

    def given(self, name: str) -> Any:
        """Return a field that the task's type calls for (ValueError: it is not given; a checked task has it)."""
        value = getattr(self, name)
        if value is UNSET:
            raise ValueError(f"the reference has no {name}")
        return value


class WorkflowTask(Document, frozen=True):
    """`workflow.json`. Version 1.1 may say `expected_text`, 1.0 has no such field."""

    task_version: Literal["1.0", "1.1"]
    goal: Description
    type: WorkflowType
    required_steps: Annotated[int, Meta(ge=1, le=limits.MAX_PLAN_NODES)]
    constraints: Constraints
    tools: Annotated[tuple[Tool, ...], Meta(min_length=1, max_length=limits.MAX_TOOLS)]
    reference: Reference
    windows: Windows | None

    def tool(self, service: str, action: str) -> Tool | None:
        """Return the tool that a plan may use under these names, None where it is not offered or not allowed."""
        allowed = self.constraints.allowed_services
        if allowed is not None and service not in allowed:
            return None
        return next((tool for tool in self.tools if (tool.service, tool.action) == (service, action)), None)


def parse_workflow_task(data: bytes) -> WorkflowTask:
    """Return the task in `data`.

    Raises:
        JsonError: not a workflow task, one that cannot be met, or one that cannot be missed; the text names the field.
    """
    task = decode(data, WorkflowTask, limit=limits.MAX_TASK_BODY)
    check_workflow_task(task)
    return task


def check_workflow_task(task: WorkflowTask) -> None:
    """Check what the types cannot say (SchemaError: naming the field)."""
    if not task.goal.strip():
        raise SchemaError("blank - at `goal`")
    check_windows(task.windows)
    _check_tools(task)
    check_reference(task)


def task_sha256(task: WorkflowTask) -> str:
    """Return the task's identity: the sha256 of the document's canonical bytes, the reference included."""
    return digest(task)


def _check_tools(task: WorkflowTask) -> None:
    offered = set()
    for i, tool in enumerate(task.tools):
        if (tool.service, tool.action) in offered:
            raise SchemaError(f"the service's action is listed twice - at `tools[{i}]`")
        offered.add((tool.service, tool.action))
        if not is_service_url(tool.url):
            raise SchemaError(f"not a plain http or https url - at `tools[{i}].url`")
        if not is_hotkey(tool.hotkey):
            raise SchemaError(f"not an ss58 address - at `tools[{i}].hotkey`")
    services = {service for service, _ in offered}
    for i, service in enumerate(task.constraints.allowed_services or ()):
        if service not in services:
            raise SchemaError(f"no tool is of this service - at `constraints.allowed_services[{i}]`")


def is_service_url(url: str) -> bool:
    """Return whether `url` is http or https with a host and only a path after it: no user, query or fragment."""
    if not url.isascii() or not url.isprintable() or set(url) & set(" \\?#@%"):
        return False
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def check_reference(task: WorkflowTask) -> None:
    """Refuse a reference that is not the one that the task's type calls for, or that cannot be missed.

    Raises:
        SchemaError: naming the field.
    """
    fields = _REFERENCES[task.type]
    given = [name for name in Reference.__struct_fields__ if getattr(task.reference, name) is not UNSET]
    for name in Reference.__struct_fields__:
        if name in given and name not in fields:
            raise SchemaError(f"not used by tasks of type {task.type} - at `reference.{name}`")
        if name == fields[0] and not set(given) & set(fields):
            raise SchemaError(f"missing for tasks of type {task.type} - at `reference.{name}`")
    if len(given) > 1:
        raise SchemaError(f"only one of {' and '.join(fields)} - at `reference.{given[1]}`")
    if given == ["expected_text"] and task.task_version == "1.0":
        raise SchemaError("a task of version 1.0 has none: say 1.1 - at `reference.expected_text`")
    _CHECKS[given[0]](getattr(task.reference, given[0]))


def _check_tests(tests: str) -> None:
    if "def test" not in tests:
        raise SchemaError("holds no test function - at `reference.tests`")


def _check_text(text: str) -> None:
    if not rouge_words(text):
        raise SchemaError("holds no word of ASCII letters or digits - at `reference.text`")


def _check_checklist(checklist: tuple[Criterion, ...]) -> None:
    if not checklist:
        raise SchemaError("a checklist without criteria cannot be missed - at `reference.checklist`")
    for i, criterion in enumerate(checklist):
        where = f"reference.checklist[{i}].value"
        if not criterion.value.strip():
            raise SchemaError(f"blank: cannot be missed - at `{where}`")
        if checklist.index(criterion) != i:
            raise SchemaError(f"listed twice - at `{where}`")
        if criterion.type == "regex":
            _check_pattern(criterion.value, where)


def _check_pattern(pattern: str, where: str) -> None:
    try:
        matched = compile_pattern(pattern).search("")
    except PatternError as error:
        raise SchemaError(f"{error.detail} - at `{where}`") from None
    if matched:
        raise SchemaError(f"matches the empty text: cannot be missed - at `{where}`")


def _check_expected(expected: Any) -> None:
    try:
        size = len(canonical_bytes(expected))
    except NotCanonicalError as error:
        raise SchemaError(f"{error.detail} - at `reference.expected`") from None
    if size > limits.MAX_STEP_TEXT:
        raise SchemaError(f"{size} bytes, at most {limits.MAX_STEP_TEXT} - at `reference.expected`")
    if expected is None or expected in ("", [], {}):
        raise SchemaError("empty: says nothing about a result - at `reference.expected`")


def _check_expected_text(text: str) -> None:
    if not text.strip():
        raise SchemaError("blank: says nothing about a result - at `reference.expected_text`")


_CHECKS: Final[dict[str, Callable[[Any], None]]] = {
    "tests": _check_tests,
    "text": _check_text,
    "checklist": _check_checklist,
    "expected": _check_expected,
    "expected_text": _check_expected_text,
}
