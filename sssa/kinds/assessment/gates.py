"""The gates of SPEC 5, in order: each looks at one case and names a reason, or lets it pass.

Pure. Gate 7 never stops anything; it needs the whole group and is in `judge.py`.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Final

from sssa.kinds.judging import PARSE_REASONS, Expected
from sssa.protocol.answer import Answer, Role, answer_limit, parse_answer, probe_values
from sssa.protocol.reasons import Reason
from sssa.protocol.round import AssessmentTask
from sssa.protocol.signatures import verify_document
from sssa.protocol.skill_types import is_runtime
from sssa.protocol.sssa import LLM_USES, Sssa
from sssa.protocol.strict_json import JsonError
from sssa.protocol.traces import Traces, TracesError, TracesTooLargeError, decode_trace_text, read_traces


def applying_gates(task: AssessmentTask, role: Role) -> Collection[int]:
    """Return the numbers of the gates that an answer of this role goes through."""
    runtime_primary = role == "primary" and is_runtime(task.skill_type)
    return [number for number, gate in enumerate(GATES, 1) if runtime_primary or gate not in _RUNTIME_PRIMARIES_ONLY]


@dataclass(slots=True)
class Case:
    """An answer on its way through the gates: the received body and its parsed parts."""

    expected: Expected[AssessmentTask]
    body: bytes
    seconds: float
    answer: Answer | None = None
    traces: Traces | None = None
    detail: str = ""
    is_runtime_primary: bool = field(init=False)
    """True if gates 4, 5 and the trace half of 6 apply."""

    def __post_init__(self) -> None:
        """Derive `is_runtime_primary` from role and type."""
        self.is_runtime_primary = self.expected.role == "primary" and is_runtime(self.expected.task.skill_type)

    @property
    def sssa(self) -> Sssa:
        """The attestation; only after the parse gate."""
        if self.answer is None:
            raise RuntimeError("the parse gate comes first")
        return self.answer.sssa


def deadline(case: Case) -> Reason | None:
    """Gate 1: the last byte came after the role's deadline."""
    late = case.seconds > case.expected.task.windows.of(case.expected.role).deadline
    return Reason.DEADLINE_LATE if late else None


def parse(case: Case) -> Reason | None:
    """Gate 2: not a valid answer, or over a limit."""
    try:
        case.answer = parse_answer(case.body, limit=answer_limit(runtime_primary=case.is_runtime_primary))
    except JsonError as error:
        case.detail = str(error)
        return PARSE_REASONS.get(type(error), Reason.PARSE_SCHEMA)
    return None


def validity(case: Case) -> Reason | None:
    """Gate 3: about another dispatch, wrongly signed, or with a language model used for a forbidden purpose."""
    sssa, task = case.sssa, case.expected.task
    llm = sssa.evidence.llm_evidence
    checks = (
        (sssa.skill.skill_type == task.skill_type, Reason.VALIDITY_SKILL_TYPE),
        (sssa.skill.bundle_sha256 == task.bundle_sha256, Reason.VALIDITY_BUNDLE),
        (sssa.skill.nonce == task.nonce, Reason.VALIDITY_NONCE),
        (sssa.signature.hotkey == case.expected.hotkey, Reason.VALIDITY_HOTKEY),
        (llm is None or llm.allowed_use in LLM_USES, Reason.VALIDITY_LLM_USE),
    )
    failed = next((reason for holds, reason in checks if not holds), None)
    if failed is None and not verify_document(sssa, case.expected.hotkey):
        failed = Reason.VALIDITY_SIGNATURE
    return failed


def manifest(case: Case) -> Reason | None:
    """Gate 4: a runtime primary's sandbox digest is missing or not that of the dispatch's runtime image."""
    if not case.is_runtime_primary:
        return None
    ran_in = case.sssa.evidence.sandbox_manifest
    if ran_in is None or not ran_in.digest:
        return Reason.MANIFEST_MISSING
    return None if ran_in.digest == case.expected.image.digest else Reason.MANIFEST_DIGEST


def traces(case: Case) -> Reason | None:
    """Gate 5: a runtime primary's traces are missing, over their caps, undecodable, or other than attested."""
    if not case.is_runtime_primary or case.answer is None:
        return None
    if case.answer.trace_bundle is None:
        return Reason.TRACES_MISSING
    task = case.expected.task
    try:
        data = decode_trace_text(case.answer.trace_bundle)
        case.traces = read_traces(data, task.skill_type, probe_values(task.nonce))
    except TracesError as error:
        case.detail = str(error)
        return Reason.TRACES_TOO_LARGE if isinstance(error, TracesTooLargeError) else Reason.TRACES_UNDECODABLE
    return None if case.traces.hashes == case.sssa.evidence.trace_hashes else Reason.TRACES_HASH


def probes(case: Case) -> Reason | None:
    """Gate 6: echoed probe values are wrong, or a runtime primary's traces do not show them."""
    if case.answer is None or case.answer.probe_evidence != probe_values(case.expected.task.nonce):
        return Reason.PROBES_ECHO
    if case.traces is not None and not all(case.traces.probes):
        return Reason.PROBES_ABSENT
    return None


GATES: Final[tuple[Callable[[Case], Reason | None], ...]] = (deadline, parse, validity, manifest, traces, probes)
_RUNTIME_PRIMARIES_ONLY: Final = (manifest, traces)


def first_failure(case: Case) -> Reason | None:
    """Send the case through the gates; return the first reason that stops it, None if it passed all (SPEC 5)."""
    for gate in GATES:
        reason = gate(case)
        if reason is not None:
            return reason
    return None
