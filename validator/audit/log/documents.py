"""Input, plan and outcome of a round from the lines that its receipt names, with the truths that are shown (D-31)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from msgspec import UNSET, structs

from validator.audit.log.lines import Line, LineReader, Wrong
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

UNKNOWN_SEED: Final = "00" * 32  # stands where the salt is not public yet
_TRUTH: Final = b'{"truth":'


@dataclass(frozen=True, slots=True)
class Planned:
    """A round's input and groups, and the lines of the two without their bytes. `drawn`: the seed is known."""

    frozen: RoundInput
    plan: RoundPlan
    input_line: Line
    plan_line: Line
    drawn: bool


def read_planned(reader: LineReader, end: RoundEnd, input_digest: str, plan_digest: str, seed: str | None) -> Planned:
    """Return the round's input and plan (FaultError: a line is missing, or does not say what the receipt says)."""
    found = reader.require("input", end.round_id, input_digest)
    complete = found.document[:-1] + b',"seed":"%s"}' % (seed or UNKNOWN_SEED).encode()
    frozen = found.parsed(RoundInput, complete)
    found.require_canonical()
    found.refuse(_contradictions(frozen))
    frozen = _with_truths(reader, frozen)
    snapshot = frozen.snapshot
    own = {
        "round_id": (frozen.round_id, end.round_id),
        "snapshot.epoch": (snapshot.epoch, end.epoch),
        "snapshot.block": (snapshot.block, end.block),
        "snapshot.block_hash": (snapshot.block_hash, end.block_hash),
        "scoring_version": (frozen.scoring_version, end.scoring_version),
    }
    found.refuse(_others(own))
    planned = reader.require("plan", end.round_id, plan_digest)
    plan = planned.parsed(RoundPlan)
    tasks = [group.task_id for group in plan.groups], [task.task_id for task in frozen.tasks]
    planned.refuse(_others({"round_id": (plan.round_id, end.round_id), "groups": tasks}))
    return Planned(frozen, plan, found.bare(), planned.bare(), seed is not None)


def read_outcome(reader: LineReader, end: RoundEnd, outcome_digest: str) -> tuple[RoundOutcome, Line]:
    """Return the round's outcome and its line (FaultError: it is missing, was changed, or is not of its form)."""
    found = reader.require("outcome", end.round_id, outcome_digest)
    return found.parsed(RoundOutcome), found


def converted(plain: Any, kind: Any, found: Line, path: str) -> Any:
    """Return a plain value of a line, which stands there at `path`, as a `kind` (FaultError: it is none)."""
    try:
        return typed.convert(plain, kind)
    except msgspec.ValidationError as error:
        raise found.fault(str(error), path) from None


def _others(told: dict[str, tuple[object, object]]) -> Iterator[Wrong]:
    yield from ((path, f"{said}, where {due} belongs") for path, (said, due) in told.items() if said != due)


def _contradictions(frozen: RoundInput) -> Iterator[Wrong]:
    """Yield where the input contradicts itself about truths."""
    for i, task in enumerate(frozen.tasks):
        if task.truth_random is not UNSET:
            yield f"tasks[{i}].truth_random", "belongs into the line of the truth"
        elif task.truth_sha256 is not UNSET and task.secret is not None:
            yield f"tasks[{i}].truth_sha256", "stands beside the truth that it commits to"
        elif task.truth_sha256 is UNSET and isinstance(task, GoalTask) and task.secret is None:
            yield f"tasks[{i}].goal.reference", "is missing, and nothing commits to it"


def _with_truths(reader: LineReader, frozen: RoundInput) -> RoundInput:
    """Read the truths behind an input's line, and return the input with them (FaultError: none that it commits to)."""
    tasks, position = list(frozen.tasks), 0
    while reader.begins(_TRUTH):
        found = reader.require("truth", frozen.round_id, None)
        document = found.parsed(TruthDocument)
        found.require_canonical()
        waiting = (i for i in range(position, len(tasks)) if tasks[i].truth_sha256 is not UNSET)
        place = next((i for i in waiting if tasks[i].task_id == document.task_id), None)
        if place is None:
            what = "is of no task of the round whose truth is to come: of another round, repeated or out of order"
            raise found.fault(what, "task_id")
        position = place
        tasks[position] = _shown(found, tasks[position], document)
    return structs.replace(frozen, tasks=tuple(tasks))


def _shown(found: Line, task: RoundTask, document: TruthDocument) -> RoundTask:
    shown = task.shown(document)
    if shown is None or shown.secret is None:
        raise found.fault(f"is no truth of a task of type {task.skill_type}")
    if truth_sha256(document.random, shown.secret) != task.truth_sha256:
        raise found.fault("is not what the input commits to: it was changed")
    try:
        if isinstance(shown, GoalTask):
            check_reference(shown.goal)
        else:
            check_injections((shown.truth.injections if shown.truth else None) or (), "truth.injections")
    except SchemaError as error:
        raise found.fault(str(error)) from None
    return shown
