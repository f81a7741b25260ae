"""From an answer's bytes to what scoring takes: a submission, or a rejection with its reason (SPEC 5)."""

from dataclasses import dataclass, replace

from validator.protocol.canonical import digest
from validator.protocol.reasons import Reason
from validator.protocol.round import Rejection, Submission, WorkflowSubmission
from validator.protocol.scoring_version import BASE_TRACES
from validator.protocol.text import printable
from validator.protocol.traces import Traces
from validator.rounds.gates import Case, Expected, checks_of, first_failure

_DIGEST = 16


@dataclass(frozen=True, slots=True)
class PackedSignatures:
    """The base traces' signature digests of one primary, packed: hostile traces must not fill the memory."""

    files: dict[str, bytes]

    @classmethod
    def of(cls, traces: Traces) -> "PackedSignatures":
        """Pack the base files' signature sets."""
        return cls({name: b"".join(sorted(traces.signatures[name])) for name in BASE_TRACES})

    def unpack(self) -> dict[str, frozenset[bytes]]:
        """Return the sets again."""
        return {
            name: frozenset(data[i : i + _DIGEST] for i in range(0, len(data), _DIGEST))
            for name, data in self.files.items()
        }


@dataclass(frozen=True, slots=True)
class Judged:
    """What the gates said of one dispatch.

    Attributes:
        result: a submission (gate 7 still to come), a plan that was run, or a rejection.
        reason: its reason code.
        detail: one printable line for the operator, perhaps empty.
        signatures: for gate 7; None unless a runtime primary passed.
        stored: whether the store has it already.
    """

    result: Submission | WorkflowSubmission | Rejection
    reason: Reason
    detail: str = ""
    signatures: PackedSignatures | None = None
    stored: bool = False


def judge(expected: Expected, body: bytes, seconds: float) -> Judged:
    """Send one answer through gates 1 to 6. Pure; heavy for large bodies, so it belongs off the event loop."""
    case = Case(expected, body, seconds)
    failure = first_failure(case)
    if failure is not None:
        return reject_answer(expected, failure, seconds, printable(case.detail))
    early = seconds < expected.task.windows.of(expected.role).t_min
    return Judged(
        result=_submission(case),
        reason=Reason.ACCEPTED_EARLY if early else Reason.ACCEPTED,
        signatures=PackedSignatures.of(case.traces) if case.traces is not None else None,
    )


def reject_answer(expected: Expected, reason: Reason, seconds: float, detail: str = "") -> Judged:
    """Return the judgement of a body that failed a gate."""
    return replace(reject(expected, reason, seconds, detail), stored=False)


def reject(expected: Expected, reason: Reason, seconds: float | None, detail: str = "") -> Judged:
    """Return the judgement of a dispatch that the store has as failed: without a body, or too costly to judge."""
    rejection = Rejection(expected.task.task_id, expected.hotkey, expected.role, str(reason), seconds)
    return Judged(rejection, reason, detail, stored=True)


def _submission(case: Case) -> Submission:
    expected = case.expected
    return Submission(
        task_id=expected.task.task_id,
        hotkey=expected.hotkey,
        role=expected.role,
        seconds=case.seconds,
        sssa=case.sssa,
        sssa_sha256=digest(case.sssa),
        checks=checks_of(case),
        shell_commands=_expected_commands(case),
    )


def _expected_commands(case: Case) -> tuple[str, ...] | None:
    """Return those of the truth's commands that the trace shows: all that sigma needs, and bounded by the truth."""
    truth = case.expected.task.truth
    if case.traces is None or truth is None or truth.shell_commands is None:
        return None
    return tuple(sorted(set(truth.shell_commands) & case.traces.shell_commands))
