"""Results of a round before it is scored: answers that passed their gates, rejections, void tasks (SPEC 5, D-6)."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, NamedTuple, TypeVar

from msgspec import Meta, to_builtins

from sssa.protocol import typed
from sssa.protocol.answer import Role
from sssa.protocol.canonical import canonical_bytes, sha256_hex
from sssa.protocol.limits import MAX_SAFE_INTEGER
from sssa.protocol.reasons import Reason
from sssa.protocol.skill_types import SkillType, is_runtime
from sssa.protocol.sssa import Document, Sssa, Unit
from sssa.protocol.task import Windows
from sssa.protocol.workflow_plan import WorkflowPlan
from sssa.protocol.workflow_run import RunRecord


class RawAnswer(NamedTuple):
    """The bytes of an answer as they arrived. Its stored form is the list of the three.

    Attributes:
        sha256: of the bytes that arrived, hex.
        size: how many those were.
        complete: whether they were the whole body of a response with status 200.
    """

    sha256: Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]
    size: Annotated[int, Meta(ge=0, le=MAX_SAFE_INTEGER)]
    complete: bool


RawAnswers = tuple[tuple[RawAnswer | None, ...], ...]
"""Of a round's dispatches: per task, and in it per member, both in plan order. None where no byte of a body arrived."""


class Checks(Document, frozen=True):
    """Results of the gates that epsilon needs; None if a check does not apply to role and type (SPEC 6)."""

    probes: bool
    traces: bool | None
    manifest_digest: bool | None
    evidence_resolves: bool
    canary: bool | None


class Submission(Document, frozen=True):
    """An answer that passed gates 1 to 6.

    Attributes:
        seconds: from the first byte sent to the last byte received.
        sssa: as signed.
        sssa_sha256: of its canonical bytes with the signature's value.
        checks: facts for epsilon.
        semantic_subset: gate 7; None where it does not apply (D-21).
        shell_commands: expected commands that the shell_commands trace shows; None where sigma does not apply.
    """

    task_id: str
    hotkey: str
    role: Role
    seconds: Annotated[float, Meta(ge=0)]
    sssa: Sssa
    sssa_sha256: str
    checks: Checks
    semantic_subset: float | None = None
    shell_commands: tuple[str, ...] | None = None

    @property
    def sha256(self) -> str:
        """Digest of the signed document."""
        return self.sssa_sha256

    @property
    def signed(self) -> Sssa:
        """The signed document."""
        return self.sssa

    def reason(self, windows: Windows) -> Reason:
        """Return the code of an answer that passed, in the windows of its task."""
        return Reason.ACCEPTED_EARLY if self.seconds < windows.of(self.role).t_min else Reason.ACCEPTED


class WorkflowSubmission(Document, frozen=True):
    """A plan that passed gates 1 to 3, and the result of running it (SPEC 12).

    Attributes:
        seconds: from the first byte sent to the last byte received.
        plan: as signed.
        plan_sha256: of its canonical bytes with the signature's value.
        run: every step as it went.
        quality: of the output; None while it cannot be judged (deferred).
    """

    task_id: str
    hotkey: str
    role: Role
    seconds: Annotated[float, Meta(ge=0)]
    plan: WorkflowPlan
    plan_sha256: str
    run: RunRecord
    quality: Unit | None

    @property
    def sha256(self) -> str:
        """Digest of the signed document."""
        return self.plan_sha256

    @property
    def signed(self) -> WorkflowPlan:
        """The signed document."""
        return self.plan

    def reason(self, _windows: Windows) -> Reason:
        """Return the code of a plan that passed: there is none too early for one."""
        return Reason.ACCEPTED


Passed = Submission | WorkflowSubmission
"""An answer that passed its gates; its class is its kind."""

A = TypeVar("A", bound=Passed)


class Packed(NamedTuple):
    """An answer that passed, as bytes: decoded, one of 192 KiB takes several times as much memory.

    Attributes:
        fields: all but the documents, as plain JSON.
        signed: canonical bytes of the attestation or plan.
        run: canonical bytes of the result of running a plan; None of an attestation.
    """

    fields: Mapping[str, Any]
    signed: bytes
    run: bytes | None = None

    @property
    def task_id(self) -> str:
        """The task that it answers."""
        return str(self.fields["task_id"])

    @property
    def hotkey(self) -> str:
        """Hotkey of the miner."""
        return str(self.fields["hotkey"])

    @property
    def seconds(self) -> float:
        """From the first byte sent to the last byte received."""
        return float(self.fields["seconds"])

    @property
    def sha256(self) -> str:
        """Digest of the signed document."""
        return str(self.fields["sssa_sha256" if self.run is None else "plan_sha256"])

    def unpacked(self) -> Passed:
        """Return the answer (msgspec.MsgspecError: the bytes hold none)."""
        if self.run is None:
            return typed.convert({**self.fields, "sssa": typed.decode(self.signed, Sssa)}, Submission)
        documents = {"plan": typed.decode(self.signed, WorkflowPlan), "run": typed.decode(self.run, RunRecord)}
        return typed.convert({**self.fields, **documents}, WorkflowSubmission)

    def named(self) -> Mapping[str, Any]:
        """Return its fields, which name what its miner signed by its digest, with the digest of the run."""
        return {**self.fields, "run": None if self.run is None else sha256_hex(self.run)}

    def is_witness(self, skill_type: SkillType) -> bool:
        """Return whether other answers to the task are compared with this one (gate 7)."""
        return self.run is None and self.fields["role"] == "primary" and is_runtime(skill_type)

    def with_subset(self, semantic_subset: float | None) -> "Packed":
        """Return it with what the other answers to its task decide (gate 7)."""
        return self._replace(fields={**self.fields, "semantic_subset": semantic_subset})


def packed(answer: Passed, signed: bytes | None = None) -> Packed:
    """Return an answer as bytes; `signed` are those of what its miner signed, where they are known."""
    if signed is None:
        signed = canonical_bytes(answer.signed)
    return Packed(
        _fields(answer), signed, canonical_bytes(answer.run) if isinstance(answer, WorkflowSubmission) else None
    )


def _fields(answer: Passed) -> Mapping[str, Any]:
    documents = ("sssa",) if isinstance(answer, Submission) else ("plan", "run")
    fields = {name: getattr(answer, name) for name in answer.__struct_fields__ if name not in documents}
    plain: dict[str, Any] = to_builtins(fields)
    return plain


class Rejection(Document, frozen=True):
    """A dispatch that failed a gate. `reason` is a code; `seconds` is None where nothing was sent."""

    task_id: str
    hotkey: str
    role: Role
    reason: Reason
    seconds: float | None = None

    @property
    def gate(self) -> int:
        """Return the number of the gate that failed."""
        return self.reason.gate


Judgement = Passed | Rejection


class VoidTask(Document, frozen=True):
    """A task that enters nothing for anyone (D-6)."""

    task_id: str
    reason: Reason


class VoidDispatch(Document, frozen=True):
    """A dispatch that alone enters nothing: the cause was on the validator's side (SPEC 16, D-26)."""

    task_id: str
    hotkey: str
    reason: Reason


class RoundResults(Document, frozen=True):
    """Everything that came back: the third argument of `score`.

    Attributes:
        passed: answers of whatever kind; of each kind in the order of the plan.
        rejections: dispatches that failed a gate, in the order of the plan.
        void: tasks that enter nothing.
        alone: dispatches of other tasks that enter nothing (D-26), in the order of the plan.
        raw: what is known of the bytes of every answer (D-28), a list per group of the plan.
    """

    passed: tuple[Passed, ...]
    rejections: tuple[Rejection, ...]
    void: tuple[VoidTask, ...] = ()
    alone: tuple[VoidDispatch, ...] = ()
    raw: RawAnswers = ()

    @classmethod
    def of(
        cls,
        judgements: Iterable[Judgement],
        void: tuple[VoidTask, ...] = (),
        alone: tuple[VoidDispatch, ...] = (),
        raw: RawAnswers = (),
    ) -> "RoundResults":
        """Return the results that these judgements are, given in the order of the plan."""
        every = tuple(judgements)
        return cls(
            passed=tuple(one for one in every if not isinstance(one, Rejection)),
            rejections=tuple(one for one in every if isinstance(one, Rejection)),
            void=void,
            alone=alone,
            raw=raw,
        )

    def answers(self, task_id: str, kind: type[A]) -> tuple[A, ...]:
        """Return what passed of the answers to a task; `kind` is what answers to such a task are."""
        return tuple(one for one in self.passed if one.task_id == task_id and isinstance(one, kind))
