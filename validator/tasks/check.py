"""The check of task folders for an operator: `validator tasks check`."""

from pathlib import Path
from typing import Final, NamedTuple

from validator.protocol import limits
from validator.protocol.bundles import read_bundle
from validator.protocol.skill_types import SkillType
from validator.protocol.strict_json import JsonError
from validator.protocol.task import Task, parse_task
from validator.protocol.text import printable
from validator.protocol.workflow_task import task_sha256
from validator.tasks.checks import faults
from validator.tasks.drafts import find_drafts, undecided
from validator.tasks.folder import (
    BUNDLE_NAME,
    TASK_NAME,
    WORKFLOW_NAME,
    find_tasks,
    label,
    read_bounded,
    read_parts,
)
from validator.tasks.goal_notes import goal_notes
from validator.tasks.goals import find_goals, read_goal
from validator.tasks.source import TaskError
from validator.tasks.truth_check import remarks, unmeetable

_AT: Final = " - at `"
_DECIDED: Final = f"nothing is left to decide: renamed to {TASK_NAME} it is the task"


class CheckedTask(NamedTuple):
    """A task folder or archive, or a `workflow.json`.

    Attributes:
        path: where it is.
        problems: what is wrong with it, one text per fault, with its field.
        notes: what it leaves out or asks for; it is used all the same.
    """

    path: Path
    problems: tuple[str, ...]
    notes: tuple[str, ...] = ()


class Located(NamedTuple):
    """A problem or a note in two parts: the path of its field (`truth.policy_rules[3].pattern`), None for the whole."""

    field: str | None
    text: str


class Problem(NamedTuple):
    """What is wrong with one task: its path below the folder that was looked through, and the fault with its field."""

    task: str
    fault: str


def located(text: str) -> Located:
    """Return a problem or a note with its field apart."""
    said, _, field = text.rpartition(_AT)
    return Located(field.removesuffix("`").removeprefix("$.") or None, said) if said else Located(None, text)


def check_folder(path: Path) -> list[Problem]:
    """Return the problems of everything at or below `path`, in the order of the paths; see `check_tasks`."""
    try:
        checked = check_tasks(path)
    except TaskError as error:
        return [Problem(label(path), error.detail)]
    return [Problem(_shown(task.path, path), problem) for task in checked for problem in task.problems]


def check_tasks(root: Path) -> list[CheckedTask]:
    """Return every task folder, archive, draft and `workflow.json` at or below `root` with its problems. Blocks.

    Reported is what makes a task refused (of a `workflow.json` its first fault, else all at once), and besides: no task
    at all (then `root` itself stands in the list), the same task twice (of a type with the same bundle, or the same
    workflow: only the first is served), and truth that no answer can agree with (`truth_check.py`). Notes say what is
    missing, what a goal's reference takes (`goal_notes.py`), and what needs a container engine.

    Raises:
        TaskError: `root` cannot be listed.
    """
    seen: dict[tuple[str, str], str] = {}
    checks = dict.fromkeys(find_tasks(root), _check_task) | dict.fromkeys(find_goals(root), _check_goal)
    checked = [checks[path](path, _shown(path, root), seen) for path in sorted(checks)]
    checked = sorted([*checked, *map(_check_draft, find_drafts(root))], key=lambda one: one.path)
    return checked or [CheckedTask(root, (f"holds no {TASK_NAME}, no task archive and no {WORKFLOW_NAME}",))]


def _shown(path: Path, root: Path) -> str:
    return label(path) if path == root else printable(path.relative_to(root).as_posix())


def _check_task(path: Path, name: str, seen: dict[tuple[str, str], str]) -> CheckedTask:
    try:
        data, bundle = read_parts(path)
        task = parse_task(data)
    except TaskError as error:
        return CheckedTask(path, (error.detail,))
    except JsonError as error:
        return CheckedTask(path, _undecided(data) or (f"{TASK_NAME}: {error.detail}",))
    found, notes = _looked_over(task, bundle)
    first = seen.setdefault((task.skill_type, task.bundle_sha256.lower()), name)
    if first != name:
        found.append(f"the same bundle as `{first}`: it is never served - at `bundle_sha256`")
    return CheckedTask(path, tuple(found), tuple(notes))


def _check_draft(path: Path) -> CheckedTask:
    try:
        data = read_bounded(path, limits.MAX_TASK_BODY)
        bundle = read_bounded(path.with_name(BUNDLE_NAME), limits.MAX_BUNDLE_COMPRESSED)
        if todo := _undecided(data):
            return CheckedTask(path, todo)
        found, notes = _looked_over(parse_task(data), bundle)
    except (TaskError, JsonError) as error:
        return CheckedTask(path, (error.detail,))
    return CheckedTask(path, tuple(found), (*notes, _DECIDED))


def _undecided(data: bytes) -> tuple[str, ...]:
    try:
        return tuple(undecided(data))
    except JsonError:
        return ()


def _looked_over(task: Task, bundle: bytes) -> tuple[list[str], list[str]]:
    """Return the problems and the notes of a task."""
    found = list(faults(task, bundle))
    if found:
        return found, []
    files = read_bundle(bundle)
    return list(unmeetable(task, files)), list(remarks(task, files))


def _check_goal(path: Path, name: str, seen: dict[tuple[str, str], str]) -> CheckedTask:
    try:
        task = read_goal(path)
    except TaskError as error:
        return CheckedTask(path, (error.detail,))
    first = seen.setdefault((SkillType.WORKFLOW, task_sha256(task)), name)
    problems = () if first == name else (f"the same task as `{first}`: it is never served",)
    return CheckedTask(path, problems, tuple(goal_notes(task)))
