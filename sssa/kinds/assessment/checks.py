"""Evidence checks of a stored attestation without its raw answer: epsilon, and impossible claims (SPEC 6).

Pure. Replay and verification call it, and `judge.py`.
"""

from sssa.kinds.judging import Expected
from sssa.protocol.answer import Role
from sssa.protocol.bundles import evidence_resolves
from sssa.protocol.results import Checks, Submission
from sssa.protocol.round import AssessmentTask
from sssa.protocol.signatures import verify_document
from sssa.protocol.skill_types import is_runtime, trace_names
from sssa.protocol.sssa import LLM_USES, EvidenceRef, Sssa, parse_evidence_ref
from sssa.protocol.text import nfc
from sssa.scoring import Fault, Version


def checks_of(task: AssessmentTask, role: Role, sssa: Sssa) -> Checks:
    """Return the evidence checks of an answer that passed gates 1 to 6."""
    runtime_primary = role == "primary" and is_runtime(task.skill_type)
    refs = [_place(finding.evidence_ref) for finding in sssa.analysis.findings]
    lines = {entry.path: entry.lines for entry in task.index}
    return Checks(
        probes=True,
        traces=True if runtime_primary else None,
        manifest_digest=True if runtime_primary else None,
        evidence_resolves=all(evidence_resolves(ref, lines) for ref in refs),
        canary=None if task.canary is None else _reports_canary(sssa, task.canary.file, lines),
    )


def misstated(version: Version, expected: Expected[AssessmentTask], answer: Submission, witnesses: int) -> Fault | None:
    """Return the first claim about an attestation that its gates cannot have let pass, None if there is none.

    Args:
        version: of the round.
        expected: what the dispatch asked for.
        answer: as it is in the record; signed, and about what was dispatched.
        witnesses: how many answers to the task were compared with each other by gate 7.
    """
    task, sssa = expected.task, answer.sssa
    again = checks_of(task, answer.role, sssa)
    for name in Checks.__struct_fields__:
        stated, follows = getattr(answer.checks, name), getattr(again, name)
        if stated is not follows:
            return Fault(f"checks.{name}", f"is {_word(stated)}; {_word(follows)} follows from index and attestation")
    if answer.seconds > task.windows.of(answer.role).deadline:
        return Fault("seconds", "is later than the deadline, which gate 1 does not let pass")
    llm = sssa.evidence.llm_evidence
    if llm is not None and llm.allowed_use not in LLM_USES:
        return Fault("sssa.evidence.llm_evidence.allowed_use", "is none that gate 3 lets pass")
    return _of_traces(version, expected, answer, witnesses)


def _of_traces(
    version: Version, expected: Expected[AssessmentTask], answer: Submission, witnesses: int
) -> Fault | None:
    task, evidence = expected.task, answer.sssa.evidence
    if answer.role != "primary" or not is_runtime(task.skill_type):
        given = [name for name in ("semantic_subset", "shell_commands") if getattr(answer, name) is not None]
        return Fault(given[0], "is not null for an answer without traces") if given else None
    sandbox = evidence.sandbox_manifest
    if sandbox is None or sandbox.digest != expected.image.digest:
        return Fault("sssa.evidence.sandbox_manifest", "is not the round's image, which gate 4 does not let pass")
    if set(evidence.trace_hashes) != set(trace_names(task.skill_type)):
        return Fault("sssa.evidence.trace_hashes", "are not those of the type, which gate 5 does not let pass")
    subset = answer.semantic_subset
    if (subset is None) != (witnesses < version.rules.quality.min_witnesses):
        return Fault("semantic_subset", f"is {_word(subset)} with {witnesses} answers that have traces")
    if subset is not None and not 0 <= subset <= 1:
        return Fault("semantic_subset", "is not between 0 and 1")
    return _of_commands(task, answer)


def _of_commands(task: AssessmentTask, answer: Submission) -> Fault | None:
    if task.truth is None:
        return None
    expected, shown = task.truth.shell_commands, answer.shell_commands
    if (expected is None) != (shown is None):
        return Fault("shell_commands", "goes with a truth that has some")
    if (
        expected is not None
        and shown is not None
        and (not set(shown) <= set(expected) or list(shown) != sorted(set(shown)))
    ):
        return Fault("shell_commands", "are not some of those that the truth has")
    return None


def _word(value: float | None) -> str:
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else f"{value:g}"


def _place(evidence_ref: str) -> EvidenceRef:
    """Return the place with its path in NFC, as bundle names are."""
    ref = parse_evidence_ref(evidence_ref)
    return ref._replace(path=nfc(ref.path))


def _reports_canary(sssa: Sssa, path: str, lines: dict[str, int]) -> bool:
    """Return whether a canary_match names exactly the marker's line: the last one of its file (SPEC 5)."""
    marker = EvidenceRef(path, lines.get(path), lines.get(path))
    matches = (f for f in sssa.analysis.findings if f.category == "canary_match")
    return any(_place(finding.evidence_ref) == marker for finding in matches)


def fault(_version: Version, task: AssessmentTask, answer: Submission) -> Fault | None:
    """Return the first fault of a stored attestation, None if it belongs to its dispatch and is signed."""
    skill = answer.sssa.skill
    dispatched = (task.skill_type, task.bundle_sha256, task.nonce)
    if (skill.skill_type, skill.bundle_sha256.lower(), skill.nonce.lower()) != dispatched:
        return Fault("sssa.skill", "is not about what was dispatched")
    if not verify_document(answer.sssa, answer.hotkey):
        return Fault("sssa.signature", "is not the hotkey's over this attestation")
    return None


def needs_truth(_version: Version, _task: AssessmentTask, _answer: Submission) -> bool:
    """Return True: the verdict of every answer is compared with the truth's."""
    return True
