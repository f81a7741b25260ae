"""A round's documents from the lines that its receipt names."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import msgspec

from validator.audit.log.faults import FaultError
from validator.audit.log.lines import DEPTH, Line, LineReader, parse, require_canonical
from validator.audit.log.truths import with_truths
from validator.audit.log.untold import UntoldError, as_sent
from validator.protocol import typed
from validator.protocol.canonical import sha256_hex
from validator.protocol.errors import ValidatorError
from validator.protocol.receipt import RoundEnd
from validator.protocol.round import RoundInput, RoundOutcome, RoundPlan, RoundResults, Submission
from validator.protocol.round.forms import (
    FormError,
    InputForm,
    OutcomeForm,
    ResultsForm,
    input_of,
    outcome_of,
    results_of,
)
from validator.protocol.sssa import Sssa, check_sssa
from validator.protocol.strict_json import SchemaError, decode_plain

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


@dataclass(frozen=True, slots=True)
class Answers:
    """What came back, and where: `lines` has the number of each attestation's line."""

    results: RoundResults
    number: int
    lines: Mapping[tuple[str, str], int]


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


def read_answers(reader: LineReader, end: RoundEnd, answers_digest: str, frozen: RoundInput) -> Answers:
    """Return what came back: the answers' line and the line of every attestation in it; `frozen` is the round's input.

    Raises:
        FaultError: a line is missing, was changed, or is not of its form.
    """
    found = reader.require("answers", end.round_id, answers_digest)
    try:
        plain = decode_plain(found.document, limit=len(found.document), depth=DEPTH)
        listed = [dict(each) for each in plain["submissions"]]
    except (ValidatorError, KeyError, TypeError, ValueError):
        raise FaultError(found.number, "answers", end.round_id, "does not list the submissions of a round") from None
    numbers: dict[tuple[str, str], int] = {}
    submissions = []
    for i, each in enumerate(listed):
        sssa, number = _read_sssa(reader, end, each.get("sssa_sha256"))
        submission = _convert({**each, "sssa": sssa}, Submission, found, end, f"submissions[{i}]")
        numbers[submission.task_id, submission.hotkey] = number
        submissions.append(submission)
    form: ResultsForm = _convert({**plain, "submissions": submissions}, ResultsForm, found, end, "")
    try:
        return Answers(as_sent(frozen, results_of(form)), found.number, numbers)
    except UntoldError as error:
        what = "names no commands of the truth by their places, in the order of their names"
        raise FaultError(found.number, "answers", end.round_id, what, str(error)) from None


def read_outcome(reader: LineReader, end: RoundEnd, outcome_digest: str) -> tuple[RoundOutcome, Line]:
    """Return the round's outcome and its line.

    Raises:
        FaultError: it is missing, was changed, or is not of its form.
    """
    found = reader.require("outcome", end.round_id, outcome_digest)
    form = parse(found, OutcomeForm, found.document, end.round_id)
    return _valued(outcome_of, form, found, end), found


def _read_sssa(reader: LineReader, end: RoundEnd, sha256: object) -> tuple[Sssa, int]:
    found = reader.next("sssa", end.round_id)
    if found is None:
        raise FaultError(reader.number + 1, "sssa", end.round_id, "missing: the file ends before it")
    if found.kind != "sssa":
        raise FaultError(
            found.number, "sssa", end.round_id, f"missing: a line of kind {found.kind} stands in its place"
        )
    if sha256_hex(found.document) != sha256:
        raise FaultError(found.number, "sssa", end.round_id, "was changed: it does not have the digest in the answers")
    sssa = parse(found, Sssa, found.document, end.round_id)
    try:
        check_sssa(sssa)
    except SchemaError as error:
        raise FaultError(found.number, "sssa", end.round_id, str(error)) from None
    require_canonical(found, end.round_id)
    return sssa, found.number


def _valued(convert: Callable[[F], T], form: F, found: Line, end: RoundEnd) -> T:
    try:
        return convert(form)
    except FormError as error:
        raise FaultError(found.number, found.kind, end.round_id, error.what, error.path) from None


def _convert(plain: Any, kind: Any, found: Line, end: RoundEnd, path: str) -> Any:
    try:
        return typed.convert(plain, kind)
    except msgspec.ValidationError as error:
        raise FaultError(found.number, found.kind, end.round_id, str(error), path) from None


def _same(found: Line, end: RoundEnd, path: str, given: object, expected: object) -> None:
    if given != expected:
        raise FaultError(found.number, found.kind, end.round_id, f"{given}, where {expected} belongs", path)
