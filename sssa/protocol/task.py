"""Task document (`task.json`): the bundle to assess, answer windows and ground truth (SPEC 13; SPEC 16, D-33)."""

from collections.abc import Sequence
from typing import Annotated, Final, Literal, NamedTuple

from msgspec import UNSET, Meta, UnsetType

from sssa.protocol import limits
from sssa.protocol.answer import CanarySpec, Role
from sssa.protocol.skill_types import OfAssessment, SkillType, is_runtime
from sssa.protocol.sssa import (
    Category,
    Cves,
    Document,
    EvidenceRefError,
    Hex32,
    Rule,
    Severity,
    Text,
    Unit,
    Verdict,
    check_cves,
    parse_evidence_ref,
)
from sssa.protocol.strict_json import SchemaError, decode

Seconds = Annotated[float, Meta(ge=0, le=86_400)]
Texts = Annotated[tuple[Text, ...], Meta(max_length=limits.MAX_RULES)]
Provenance = Literal["curated", "canary", "none"]


class Window(NamedTuple):
    """Answer window of one role: earliest and latest time, in seconds after the dispatch."""

    t_min: float
    deadline: float

    def part(self, t: float) -> float:
        """Return the fraction of the window elapsed at `t` seconds: 0 at t_min, 1 at the deadline (SPEC 6, eta)."""
        return (t - self.t_min) / (self.deadline - self.t_min)


class Windows(Document, frozen=True):
    """(t_min, deadline) in seconds for each role."""

    primary: tuple[Seconds, Seconds]
    auditor: tuple[Seconds, Seconds]

    def of(self, role: Role) -> Window:
        """Return the role's own window."""
        return Window(*(self.primary if role == "primary" else self.auditor))


class KnownFinding(Document, frozen=True):
    """One finding that a correct analysis reports (SPEC 16, D-33); the fields are those of an SSSA's (SPEC 2).

    Attributes:
        kind: kind of fault, `family/shape` if planted. Listings group faults by it.
    """

    category: Category
    severity: Severity
    evidence_ref: Text
    cve_ids: Cves
    target_pattern: Text
    kind: Annotated[str, Meta(pattern=r"\A[a-z0-9_-]{1,64}(/[a-z0-9_-]{1,64})?\Z")]


class Truth(Document, frozen=True):
    """Ground truth of a bundle. A null field disables its quality axis (SPEC 6).

    Attributes:
        findings: complete list of expected findings, null if unknown; unset in truths of task_version 1.0. No scoring
            version reads it (D-33).
        mark: the path that the bundle's execution mark touches, as traces name it (SPEC 15); unset without one.
    """

    verdict: Verdict
    policy_rules: Annotated[tuple[Rule, ...], Meta(max_length=limits.MAX_RULES)] | None
    injections: Texts | None
    reference_risk: Unit | None
    shell_commands: Texts | None
    manifest_sha256: Hex32 | None
    poisoned_tools: Texts | None
    transitive_risk: Unit | None
    findings: Annotated[tuple[KnownFinding, ...], Meta(max_length=limits.MAX_FINDINGS)] | UnsetType | None = UNSET
    mark: Text | UnsetType = UNSET


class Task(OfAssessment, Document, frozen=True):
    """`task.json`. `truth.findings` is required in version 1.1 and forbidden in 1.0."""

    task_version: Literal["1.0", "1.1"]
    skill_type: SkillType
    windows: Windows | None
    bundle_sha256: Hex32
    provenance: Provenance
    truth: Truth | None
    canary: CanarySpec | None


def parse_task(data: bytes) -> Task:
    """Return the task in `data` (JsonError: not a task, or fields contradict each other; the text names the field)."""
    task = decode(data, Task, limit=limits.MAX_TASK_BODY)
    check_task(task)
    return task


def check_task(task: Task) -> None:
    """Refuse windows, provenance, injections, findings or canaries that are inconsistent.

    Raises:
        SchemaError: naming the field.
    """
    check_windows(task.windows)
    if (task.provenance == "none") != (task.truth is None):
        raise SchemaError("provenance none goes with truth null, every other with a truth - at `truth`")
    if task.canary is not None:
        if is_runtime(task.skill_type):
            raise SchemaError("only rag_knowledge and declarative carry a marker - at `canary`")
        _check_ref(task.canary.file, "canary.file")
    if task.truth is not None:
        if task.task_version == "1.0" and task.truth.findings is not UNSET:
            raise SchemaError("needs task_version 1.1 - at `truth.findings`")
        if task.task_version != "1.0" and task.truth.findings is UNSET:
            raise SchemaError("is missing: null where they are not known - at `truth.findings`")
        check_truth(task.truth, "truth")


def version_for(truth: Truth | None) -> Literal["1.0", "1.1"]:
    """Return the task_version that a truth needs: the oldest, so that older validators read the task."""
    return "1.0" if truth is None or truth.findings is UNSET else "1.1"


def check_injections(refs: Sequence[str], where: str) -> None:
    """Check known injections against the grammar of evidence references.

    Raises:
        SchemaError: naming the item below `where`.
    """
    for i, ref in enumerate(refs):
        _check_ref(ref, f"{where}[{i}]")


def check_windows(windows: Windows | None) -> None:
    """Refuse windows that leave no time, or auditors more of it than primaries (SPEC 1).

    Raises:
        SchemaError: naming the field.
    """
    if windows is None:
        return
    for name, (t_min, deadline) in (("primary", windows.primary), ("auditor", windows.auditor)):
        if deadline <= t_min:
            raise SchemaError(f"the deadline must exceed t_min - at `windows.{name}`")
    if windows.of("auditor").deadline > windows.of("primary").deadline:
        raise SchemaError("an auditor's deadline must not be later than the primaries' - at `windows.auditor`")


def check_truth(truth: Truth, where: str) -> None:
    """Check the injections and findings of a truth (SchemaError: naming the item below `where`)."""
    check_injections(truth.injections or (), f"{where}.injections")
    for i, finding in enumerate(truth.findings or ()):
        if finding.category == "canary_match":
            raise SchemaError(f"the marker is no part of a truth - at `{where}.findings[{i}].category`")
        _check_ref(finding.evidence_ref, f"{where}.findings[{i}].evidence_ref")
        check_cves(finding.cve_ids, f"{where}.findings[{i}].cve_ids")


def _check_ref(text: str, where: str) -> None:
    try:
        parse_evidence_ref(text)
    except EvidenceRefError as error:
        raise SchemaError(f"{error} - at `{where}`") from None


TRUTH_OF_AXIS: Final = {
    "pi": "policy_rules",
    "rho": "injections",
    "mu": "reference_risk",
    "sigma": "shell_commands",
    "psi": "manifest_sha256",
    "tau": "poisoned_tools",
    "chi": "transitive_risk",
}
"""Fields of a truth by the axes of quality that need them (SPEC 6)."""
