"""The stored, signed and logged form of a round's documents, and the way from it to the values and back.

A task and a member of a group have the fields of every kind, those of other kinds null, and what came back has a list
per kind. Only the code that reads or writes such bytes knows of them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Final, Literal, TypeVar

import msgspec

from validator.protocol import typed
from validator.protocol.answer import CanarySpec, Role
from validator.protocol.bundles import IndexEntry
from validator.protocol.reasons import Reason
from validator.protocol.round.acts import Acts
from validator.protocol.round.frozen import ExecutionResult, FilledQuality, MinerState, RoundInput
from validator.protocol.round.outcome import (
    AgreementSample,
    AssessedMember,
    Components,
    Emission,
    FailedMember,
    FlagRaised,
    GroupOutcome,
    MemberOutcome,
    RanMember,
    ReputationEvent,
    RoundOutcome,
    WorkflowOutcome,
)
from validator.protocol.round.raw import RawAnswers
from validator.protocol.round.results import (
    Passed,
    Rejection,
    RoundResults,
    Submission,
    VoidDispatch,
    VoidTask,
    WorkflowSubmission,
)
from validator.protocol.round.snapshot import MetagraphSnapshot
from validator.protocol.round.tasks import AnyTask, AssessmentTask, GoalTask, RoundTask
from validator.protocol.round.truths import Digest
from validator.protocol.runtime_image import RuntimeImage
from validator.protocol.skill_types import SkillType
from validator.protocol.sssa import Document
from validator.protocol.task import Truth
from validator.protocol.workflow_task import WorkflowTask

D = TypeVar("D", bound=Document)
F = TypeVar("F")
T = TypeVar("T")


class FormError(msgspec.ValidationError):
    """A document's fields contradict each other. `path` leads to one of them, `what` says how."""

    def __init__(self, path: str, what: str) -> None:
        self.path = path
        self.what = what
        super().__init__(f"{what} - at `$.{path}`")

    def within(self, path: str) -> "FormError":
        """Return the error as seen from the document that has the other at `path`."""
        return FormError(f"{path}.{self.path}", self.what)


class TaskForm(AnyTask, frozen=True):
    """A task: the fields of an assessment, and `workflow`, which only a workflow task has.

    `truth_random` is absent where no truth is committed to; `truth_sha256` stands in a log's line alone.
    """

    provenance: Literal["curated", "canary", "none"]
    truth: Truth | None
    canary: CanarySpec | None
    index: tuple[IndexEntry, ...]
    workflow: WorkflowTask | None = None
    own_windows: bool | None = None
    truth_random: Digest | msgspec.UnsetType = msgspec.UNSET
    truth_sha256: Digest | msgspec.UnsetType = msgspec.UNSET


_OF_GOALS: Final[Mapping[str, Any]] = MappingProxyType(
    {"provenance": "curated", "truth": None, "canary": None, "index": (), "own_windows": None}
)
"""What stands in the fields of an assessment where the task is none."""


def task_form(task: RoundTask) -> TaskForm:
    """Return the stored form of a task."""
    if isinstance(task, GoalTask):
        return _like(TaskForm, task, **_OF_GOALS, workflow=task.goal)
    return _like(TaskForm, task, workflow=None)


def task_of(form: TaskForm) -> RoundTask:
    """Return the task.

    Raises:
        FormError: its fields are not those of one kind.
    """
    if (form.workflow is not None) != (form.skill_type is SkillType.WORKFLOW):
        raise FormError("workflow", "goes with tasks of type workflow, and only with them")
    if form.workflow is None:
        if form.own_windows is None:
            raise FormError("own_windows", "is missing")
        return _like(AssessmentTask, form)
    _require(form, _OF_GOALS, "a workflow task")
    return _like(GoalTask, form, goal=form.workflow)


class InputForm(Document, frozen=True):
    """A round's input; see `RoundInput`."""

    input_version: Literal["1"]
    scoring_version: str
    round_id: str
    validator_hotkey: str
    snapshot: MetagraphSnapshot
    seed: str
    salt_commitment: str
    miners: tuple[MinerState, ...]
    tasks: tuple[TaskForm, ...]
    runtime_image: RuntimeImage
    executes: bool
    executions: tuple[ExecutionResult, ...]
    filled: tuple[FilledQuality, ...]
    acts: Acts


def input_form(frozen: RoundInput) -> InputForm:
    """Return the stored form of a round's input."""
    return _like(InputForm, frozen, tasks=tuple(map(task_form, frozen.tasks)))


def input_of(form: InputForm) -> RoundInput:
    """Return the round's input.

    Raises:
        FormError: the fields of a task are not those of one kind.
    """
    return _like(RoundInput, form, tasks=tuple(_each("tasks", task_of, form.tasks)))


def read_input(data: bytes) -> RoundInput:
    """Return the round's input from its stored bytes.

    Raises:
        msgspec.MsgspecError: they hold none.
    """
    return input_of(typed.decode(data, InputForm))


class ResultsForm(Document, frozen=True):
    """Everything that came back, a list per kind of answer, each in the order of the plan."""

    submissions: tuple[Submission, ...]
    rejections: tuple[Rejection, ...]
    void: tuple[VoidTask, ...]
    workflows: tuple[WorkflowSubmission, ...]
    void_dispatches: tuple[VoidDispatch, ...]
    raw: RawAnswers


def results_form(results: RoundResults) -> ResultsForm:
    """Return the stored form of what came back."""
    return ResultsForm(
        submissions=tuple(one for one in results.passed if isinstance(one, Submission)),
        rejections=results.rejections,
        void=results.void,
        workflows=tuple(one for one in results.passed if isinstance(one, WorkflowSubmission)),
        void_dispatches=results.alone,
        raw=results.raw,
    )


def results_of(form: ResultsForm) -> RoundResults:
    """Return what came back."""
    passed: tuple[Passed, ...] = (*form.submissions, *form.workflows)
    return RoundResults(passed, form.rejections, form.void, form.void_dispatches, form.raw)


class MemberForm(Document, frozen=True):
    """What a dispatch came to, with the fields of an assessment and of a workflow."""

    task_id: str
    hotkey: str
    role: Role
    reason: Reason
    components: Components | None
    consensus: float
    agreement_with_primaries: float | None
    agreement_with_auditors: float | None
    emission: Emission | None
    window_entry: float | None
    workflow: WorkflowOutcome | None = None


_OF_OTHERS: Final[Mapping[str, Any]] = MappingProxyType(
    dict.fromkeys(("components", "agreement_with_primaries", "agreement_with_auditors", "emission"))
)
"""What stands in the fields of an assessed answer where the member has none."""


def member_form(member: MemberOutcome) -> MemberForm:
    """Return the stored form of what a dispatch came to."""
    match member:
        case AssessedMember():
            return _like(MemberForm, member, workflow=None)
        case RanMember():
            return _like(MemberForm, member, **_OF_OTHERS)
        case _:
            return _like(MemberForm, member, **_OF_OTHERS, workflow=None)


def member_of(form: MemberForm) -> MemberOutcome:
    """Return what the dispatch came to. Its reason tells a failed gate, and a run that is not worth anything yet.

    Raises:
        FormError: its fields are not those of one kind.
    """
    if form.reason.gate:
        _require(form, {**_OF_OTHERS, "workflow": None}, "a failed gate")
        return _like(FailedMember, form)
    if form.workflow is not None or form.reason == Reason.WORKFLOW_DEFERRED:
        _require(form, _OF_OTHERS, "a plan that was run")
        return _like(RanMember, form)
    return _like(AssessedMember, form)


class OutcomeForm(Document, frozen=True):
    """What a round comes to; see `RoundOutcome`."""

    round_id: str
    scoring_version: str
    groups: tuple[GroupOutcome, ...]
    members: tuple[MemberForm, ...]
    samples: tuple[AgreementSample, ...]
    flags: tuple[FlagRaised, ...]
    reputation: tuple[ReputationEvent, ...]


def outcome_form(outcome: RoundOutcome) -> OutcomeForm:
    """Return the stored form of an outcome."""
    return _like(OutcomeForm, outcome, members=tuple(map(member_form, outcome.members)))


def outcome_of(form: OutcomeForm) -> RoundOutcome:
    """Return the outcome.

    Raises:
        FormError: the fields of a member are not those of one kind.
    """
    return _like(RoundOutcome, form, members=tuple(_each("members", member_of, form.members)))


def read_outcome(data: bytes) -> RoundOutcome:
    """Return the outcome from its stored bytes.

    Raises:
        msgspec.MsgspecError: they hold none.
    """
    return outcome_of(typed.decode(data, OutcomeForm))


@cache
def _fields_of(kind: type[Document]) -> Callable[[Document], tuple[Any, ...]]:
    return attrgetter(*kind.__struct_fields__)


@cache
def _others_of(kind: type[Document], changed: tuple[str, ...]) -> tuple[list[str], Callable[[Document], Any]]:
    names = [name for name in kind.__struct_fields__ if name not in changed]
    return names, attrgetter(*names)


def _like(kind: type[D], value: Document, **changed: Any) -> D:
    """Return a `kind` with the fields of `value`, but for `changed`."""
    if not changed:
        return kind(*_fields_of(kind)(value))  # three times as fast, for the many
    names, others = _others_of(kind, tuple(changed))  # all kinds have several fields
    return kind(**dict(zip(names, others(value), strict=True)), **changed)


def _require(form: Document, expected: Mapping[str, Any], whose: str) -> None:
    """Refuse a form that says more than those of its kind do."""
    for name, value in expected.items():
        if getattr(form, name) != value:
            raise FormError(name, f"is {value!r} for {whose}")


def _each(name: str, convert: Callable[[F], T], forms: Iterable[F]) -> Iterator[T]:
    for i, form in enumerate(forms):
        try:
            yield convert(form)
        except FormError as error:
            raise error.within(f"{name}[{i}]") from None
