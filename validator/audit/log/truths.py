"""Truths of a log: each line holds what its round's input commits to; one that is not there is counted (D-31)."""

from typing import Final

from msgspec import UNSET, structs

from validator.audit.log.faults import FaultError
from validator.audit.log.lines import Line, LineReader, parse, require_canonical
from validator.protocol.receipt import RoundEnd
from validator.protocol.round import GoalTask, RoundInput, RoundTask
from validator.protocol.round.truths import TruthDocument, truth_sha256
from validator.protocol.strict_json import SchemaError
from validator.protocol.task import check_injections
from validator.protocol.workflow_task import check_reference

_PREFIX: Final = b'{"truth":'


def with_truths(reader: LineReader, end: RoundEnd, frozen: RoundInput) -> RoundInput:
    """Read the lines of truths behind an input's line, and return the input with what they show.

    Args:
        reader: after the input's line.
        end: of the round.
        frozen: the input as its line has it.

    Raises:
        FaultError: the input contradicts itself, or a truth is not what a task of it commits to.
    """
    for i, task in enumerate(frozen.tasks):
        wrong = _contradiction(task)
        if wrong is not None:
            raise FaultError(reader.number, "input", end.round_id, wrong[1], f"tasks[{i}].{wrong[0]}")
    tasks, position = list(frozen.tasks), 0
    while reader.begins(_PREFIX):
        found = reader.next("truth", end.round_id)
        if found is None:
            break
        document = parse(found, TruthDocument, found.document, end.round_id)
        require_canonical(found, end.round_id)
        position = _position(found, end, tasks, position, document.task_id)
        tasks[position] = _shown(found, end, tasks[position], document)
    return structs.replace(frozen, tasks=tuple(tasks))


def _contradiction(task: RoundTask) -> tuple[str, str] | None:
    if task.truth_random is not UNSET:
        return "truth_random", "belongs into the line of the truth"
    if task.truth_sha256 is not UNSET and task.secret is not None:
        return "truth_sha256", "stands beside the truth that it commits to"
    if task.truth_sha256 is UNSET and isinstance(task, GoalTask) and task.secret is None:
        return "workflow.reference", "is missing, and nothing commits to it"
    return None


def _position(found: Line, end: RoundEnd, tasks: list[RoundTask], start: int, task_id: str) -> int:
    """Return the place of the truth's task: among those that wait for theirs, in the order of the input."""
    for i in range(start, len(tasks)):
        if tasks[i].task_id == task_id and tasks[i].truth_sha256 is not UNSET:
            return i
    what = "is of no task of the round whose truth is to come: of another round, repeated or out of order"
    raise FaultError(found.number, "truth", end.round_id, what, "task_id")


def _shown(found: Line, end: RoundEnd, task: RoundTask, document: TruthDocument) -> RoundTask:
    shown = task.shown(document)
    if shown is None or shown.secret is None:
        raise FaultError(found.number, "truth", end.round_id, f"is no truth of a task of type {task.skill_type}")
    if truth_sha256(document.random, shown.secret) != task.truth_sha256:
        raise FaultError(found.number, "truth", end.round_id, "is not what the input commits to: it was changed")
    try:
        if isinstance(shown, GoalTask):
            check_reference(shown.goal)
        else:
            check_injections((shown.truth.injections if shown.truth else None) or (), "truth.injections")
    except SchemaError as error:
        raise FaultError(found.number, "truth", end.round_id, str(error)) from None
    return shown
