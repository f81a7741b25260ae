"""Input, plan and outcome of a round from the lines that its receipt names, with the truths that are shown (D-31)."""

from dataclasses import dataclass
from typing import Any, Final

import msgspec
from msgspec import UNSET, structs

from validator.audit.log.lines import FaultError, Line, LineReader, parse, require_canonical
from validator.protocol import typed
from validator.protocol.receipt import RoundEnd
from validator.protocol.round import (
    GoalTask,
    RoundInput,
    RoundOutcome,
    RoundPlan,
    RoundTask,
    TruthDocument,
    truth_sha256,
)
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
        return "goal.reference", "is missing, and nothing commits to it"
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


UNKNOWN_SEED: Final = "00" * 32  # stands where the salt is not public yet


@dataclass(frozen=True, slots=True)
class Planned:
    """A round's input, its groups, and where the two stand. `drawn`: the seed is known."""

    frozen: RoundInput
    plan: RoundPlan
    input_line: int
    plan_line: int
    drawn: bool


def read_planned(reader: LineReader, end: RoundEnd, input_digest: str, plan_digest: str, seed: str | None) -> Planned:
    """Return the round's input and plan.

    Raises:
        FaultError: a line is missing, was changed, or does not say what the receipt says.
    """
    found = reader.require("input", end.round_id, input_digest)
    complete = found.document[:-1] + b',"seed":"%s"}' % (seed or UNKNOWN_SEED).encode()
    frozen = parse(found, RoundInput, complete, end.round_id)
    require_canonical(found, end.round_id)
    frozen = with_truths(reader, end, frozen)
    _same(found, end, "round_id", frozen.round_id, end.round_id)
    _same(found, end, "snapshot.epoch", frozen.snapshot.epoch, end.epoch)
    _same(found, end, "snapshot.block", frozen.snapshot.block, end.block)
    _same(found, end, "snapshot.block_hash", frozen.snapshot.block_hash, end.block_hash)
    _same(found, end, "scoring_version", frozen.scoring_version, end.scoring_version)
    planned = reader.require("plan", end.round_id, plan_digest)
    plan = parse(planned, RoundPlan, planned.document, end.round_id)
    _same(planned, end, "round_id", plan.round_id, end.round_id)
    _same(planned, end, "groups", [g.task_id for g in plan.groups], [t.task_id for t in frozen.tasks])
    return Planned(frozen, plan, found.number, planned.number, seed is not None)


def read_outcome(reader: LineReader, end: RoundEnd, outcome_digest: str) -> tuple[RoundOutcome, Line]:
    """Return the round's outcome and its line.

    Raises:
        FaultError: it is missing, was changed, or is not of its form.
    """
    found = reader.require("outcome", end.round_id, outcome_digest)
    return parse(found, RoundOutcome, found.document, end.round_id), found


def converted(plain: Any, kind: Any, found: Line, end: RoundEnd, path: str) -> Any:
    """Return a plain value of a line, which stands there at `path`, as a `kind`.

    Raises:
        FaultError: it is none.
    """
    try:
        return typed.convert(plain, kind)
    except msgspec.ValidationError as error:
        raise FaultError(found.number, found.kind, end.round_id, str(error), path) from None


def _same(found: Line, end: RoundEnd, path: str, given: object, expected: object) -> None:
    if given != expected:
        raise FaultError(found.number, found.kind, end.round_id, f"{given}, where {expected} belongs", path)
