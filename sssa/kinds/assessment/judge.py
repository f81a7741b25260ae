"""Judgement of an answer's bytes: a submission or a rejection; and gate 7 (SPEC 5). Pure; run in worker processes."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sssa.kinds.assessment.checks import checks_of
from sssa.kinds.assessment.gates import Case, first_failure
from sssa.kinds.judging import Expected, Judged, reject_answer
from sssa.protocol.canonical import canonical_bytes, sha256_hex
from sssa.protocol.results import Packed, Submission, packed
from sssa.protocol.round import AssessmentTask
from sssa.protocol.skill_types import BASE_TRACES
from sssa.protocol.sssa import Sssa
from sssa.protocol.text import printable
from sssa.protocol.traces import Traces
from sssa.scoring import Version, semantic_subsets

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
class Witnessed(Judged):
    """The judgement of a runtime primary that passed: its traces' signatures stay for gate 7."""

    signatures: PackedSignatures = field(kw_only=True)


def judge(expected: Expected[AssessmentTask], body: bytes, seconds: float) -> Judged:
    """Send one answer through gates 1 to 6. Pure; heavy for large bodies, so it belongs off the event loop."""
    case = Case(expected, body, seconds)
    failure = first_failure(case)
    if failure is not None:
        return reject_answer(expected, failure, seconds, printable(case.detail))
    sssa = case.sssa
    signed = canonical_bytes(sssa)
    submission = _submission(case, sssa, sha256_hex(signed))
    passed, reason = packed(submission, signed), submission.reason(expected.task.windows)
    if case.traces is None:
        return Judged(passed, reason)
    return Witnessed(passed, reason, signatures=PackedSignatures.of(case.traces))


def _submission(case: Case, sssa: Sssa, sha256: str) -> Submission:
    expected = case.expected
    return Submission(
        task_id=expected.task.task_id,
        hotkey=expected.hotkey,
        role=expected.role,
        seconds=case.seconds,
        sssa=sssa,
        sssa_sha256=sha256,
        checks=checks_of(expected.task, expected.role, sssa),
        shell_commands=_expected_commands(case),
    )


def _expected_commands(case: Case) -> tuple[str, ...] | None:
    """Return those of the truth's commands that the trace shows: all that sigma needs, and bounded by the truth."""
    truth = case.expected.task.truth
    if case.traces is None or truth is None or truth.shell_commands is None:
        return None
    return tuple(sorted(set(truth.shell_commands) & case.traces.shell_commands))


def completed(version: Version, judged: Mapping[str, Judged]) -> dict[str, Packed]:
    """Return the answers to a task that passed, by hotkey, with gate 7 filled in from those that exist."""
    subsets = subsets_of(
        version, {hotkey: one.signatures for hotkey, one in judged.items() if isinstance(one, Witnessed)}
    )
    return {
        hotkey: one.result.with_subset(subsets.get(hotkey))
        for hotkey, one in judged.items()
        if isinstance(one.result, Packed)
    }


def subsets_of(version: Version, signatures: Mapping[str, PackedSignatures]) -> Mapping[str, float | None]:
    """Return the semantic_subset of each hotkey among the traces of one task."""
    return semantic_subsets(version, {hotkey: packed.unpack() for hotkey, packed in signatures.items()})
