"""From an answer's bytes to what scoring takes: a submission, or a rejection with its reason (SPEC 5)."""

from dataclasses import dataclass

from validator.protocol.canonical import canonical_bytes, sha256_hex
from validator.protocol.reasons import Reason
from validator.protocol.round import Rejection, Submission
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
        result: a submission (gate 7 still to come) or a rejection.
        reason: its reason code.
        detail: one printable line for the operator, perhaps empty.
        signatures: for gate 7; None unless a runtime primary passed.
        sssa_bytes: canonical bytes of the SSSA to keep; None where none could be parsed.
    """

    result: Submission | Rejection
    reason: Reason
    detail: str = ""
    signatures: PackedSignatures | None = None
    sssa_bytes: bytes | None = None


def judge(expected: Expected, body: bytes, seconds: float) -> Judged:
    """Send one answer through gates 1 to 6. Pure; heavy for large bodies, so it belongs off the event loop."""
    case = Case(expected, body, seconds)
    failure = first_failure(case)
    kept = None if case.answer is None else canonical_bytes(case.answer.sssa)
    if failure is not None:
        return Judged(reject(expected, failure, seconds).result, failure, printable(case.detail), None, kept)
    early = seconds < expected.task.windows.of(expected.role)[0]
    return Judged(
        result=_submission(case, kept or b""),
        reason=Reason.ACCEPTED_EARLY if early else Reason.ACCEPTED,
        signatures=PackedSignatures.of(case.traces) if case.traces is not None else None,
        sssa_bytes=kept,
    )


def reject(expected: Expected, reason: Reason, seconds: float | None, detail: str = "") -> Judged:
    """Return the judgement of a dispatch that failed before there was a body to look at."""
    rejection = Rejection(expected.task.task_id, expected.hotkey, expected.role, str(reason), seconds)
    return Judged(rejection, reason, detail)


def _submission(case: Case, sssa_bytes: bytes) -> Submission:
    expected = case.expected
    return Submission(
        task_id=expected.task.task_id,
        hotkey=expected.hotkey,
        role=expected.role,
        seconds=case.seconds,
        sssa=case.sssa,
        sssa_sha256=sha256_hex(sssa_bytes),
        checks=checks_of(case),
        shell_commands=_expected_commands(case),
    )


def _expected_commands(case: Case) -> tuple[str, ...] | None:
    """Return those of the truth's commands that the trace shows: all that sigma needs, and bounded by the truth."""
    truth = case.expected.task.truth
    if case.traces is None or truth is None or truth.shell_commands is None:
        return None
    return tuple(sorted(set(truth.shell_commands) & case.traces.shell_commands))
