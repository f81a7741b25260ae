"""Input, plan and outcome of a round from the lines that its receipt names."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import msgspec

from validator.audit.log.faults import FaultError
from validator.audit.log.lines import Line, LineReader, parse, require_canonical
from validator.audit.log.truths import with_truths
from validator.protocol import typed
from validator.protocol.receipt import RoundEnd
from validator.protocol.round import RoundInput, RoundOutcome, RoundPlan
from validator.protocol.round.forms import (
    FormError,
    InputForm,
    OutcomeForm,
    input_of,
    outcome_of,
)

F = TypeVar("F")
T = TypeVar("T")
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
    frozen = _valued(input_of, parse(found, InputForm, complete, end.round_id), found, end)
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
    form = parse(found, OutcomeForm, found.document, end.round_id)
    return _valued(outcome_of, form, found, end), found


def converted(plain: Any, kind: Any, found: Line, end: RoundEnd, path: str) -> Any:
    """Return a plain value of a line, which stands there at `path`, as a `kind`.

    Raises:
        FaultError: it is none.
    """
    try:
        return typed.convert(plain, kind)
    except msgspec.ValidationError as error:
        raise FaultError(found.number, found.kind, end.round_id, str(error), path) from None


def _valued(convert: Callable[[F], T], form: F, found: Line, end: RoundEnd) -> T:
    try:
        return convert(form)
    except FormError as error:
        raise FaultError(found.number, found.kind, end.round_id, error.what, error.path) from None


def _same(found: Line, end: RoundEnd, path: str, given: object, expected: object) -> None:
    if given != expected:
        raise FaultError(found.number, found.kind, end.round_id, f"{given}, where {expected} belongs", path)
