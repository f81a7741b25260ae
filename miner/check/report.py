"""Report of a check: its sections, its outcomes, and the page that `validator miner check` prints."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from sssa.cli.output import NONE, print_line
from sssa.cli.rendering import print_table
from sssa.kinds.assessment.explanation import Quality
from sssa.kinds.task_explanation import Gate, Part
from sssa.protocol.answer import Role
from sssa.protocol.reasons import GATE_NAMES, Reason
from sssa.protocol.skill_types import SkillType
from sssa.protocol.sssa import Document
from sssa.protocol.text import printable


class Section(StrEnum):
    """Section of a check: findings, waiting and hurrying, the largest bundle, goals."""

    ANSWERS = "answers"
    WINDOWS = "windows"
    LIMITS = "limits"
    PLANS = "plans"


class Fault(Document, frozen=True):
    """Something to change.

    Attributes:
        code: a reason code, a check of epsilon's, or one of `conduct.py`.
        gate: its number; None where no gate says so.
        detail: what was seen, with the field; perhaps empty.
    """

    code: str
    gate: int | None
    meaning: str
    detail: str = ""

    @classmethod
    def of(cls, reason: Reason, detail: str) -> "Fault":
        """Return what a validator would say of an answer or a declaration."""
        return cls(str(reason), reason.gate or None, reason.meaning, detail)


class PlanWorth(Document, frozen=True):
    """Score of a plan that was run.

    Attributes:
        output_quality: None for code, which is judged after a round.
        parts: of S, as far as `output_quality` is known; else as if it were 0.
    """

    output_quality: float | None
    steps_completed: int
    total_steps: int
    parts: tuple[Part, ...]


class Outcome(Document, frozen=True):
    """Result of one dispatch.

    Attributes:
        seconds: first byte sent to last byte received; None where nothing was sent.
        reason: as a validator would store it.
        semantic_subset: gate 7, against a run of the reference tracer; None where it does not apply.
        score: Q or S; None where nothing passed, or code is not judged yet.
        entry: what would enter the window at consensus 1; None as for `score`.
    """

    trial: str
    part: Section
    skill_type: SkillType
    role: Role
    t_min_s: float
    deadline_s: float
    seconds: float | None
    status: int | None
    reason: Reason
    gates: tuple[Gate, ...]
    semantic_subset: float | None
    quality: Quality | None
    plan: PlanWorth | None
    score: float | None
    entry: float | None
    faults: tuple[Fault, ...]


class Declared(Document, frozen=True):
    """The miner's declaration."""

    types: tuple[SkillType, ...]
    max_concurrent: int


class Report(Document, frozen=True):
    """A check.

    Attributes:
        public: whether a validator on chain would call that address.
        declared: None where the declaration does not count; `faults` then says why, and nothing else was sent.
    """

    url: str
    hotkey: str
    caller: str
    scoring_version: str
    public: bool
    declared: Declared | None
    faults: tuple[Fault, ...]
    outcomes: tuple[Outcome, ...]

    @property
    def found(self) -> list[tuple[str, Fault]]:
        """Every fault with what it was seen at, in order."""
        return [
            *(("declaration", fault) for fault in self.faults),
            *((f"{one.skill_type} {one.role}, {one.trial}", fault) for one in self.outcomes for fault in one.faults),
        ]


_SHOWN: Final = 400
_SCORED: Final = frozenset({Section.ANSWERS, Section.PLANS})


def hotkey_hint(caller: str) -> str:
    """Return how a miner comes to answer the check."""
    return (
        f"asking as {caller}: the miner must answer this hotkey, as it does validators "
        f"(`--validator {caller}` of the template and of `validator miner run`)"
    )


def print_report(report: Report) -> None:
    """Print a report; everything that the miner sent is made harmless."""
    print_line(f"miner {report.hotkey} at {report.url}, scored by {report.scoring_version}")
    for line in _declared(report):
        print_line(line)
    if report.outcomes:
        print_line()
        print_table("type role what_was_sent s> window> gates Q_or_S> parts~", map(_row, report.outcomes))
    if lines := fault_lines(report):
        print_line()
        print_line("to change (docs/miner-protocol.md, section 9):")
        for line in lines:
            print_line(f"  {line}")
    print_line()
    print_line(_sum(report))


def fault_lines(report: Report) -> list[str]:
    """Return a line for every fault, with what it was first seen at and how often; worst first as they came."""
    seen: dict[str, list[tuple[str, Fault]]] = {}
    for where, fault in report.found:
        seen.setdefault(fault.code, []).append((where, fault))
    return [_line(several) for several in seen.values()]


def _line(several: list[tuple[str, Fault]]) -> str:
    where, fault = several[0]
    more = f" and {len(several) - 1} more" if len(several) > 1 else ""
    gate = f", gate {fault.gate} ({GATE_NAMES[fault.gate - 1]})" if fault.gate else ""
    detail = f" {printable(fault.detail, _SHOWN)}." if fault.detail else ""
    return f"{fault.code}{gate} [{where}{more}]: {fault.meaning}{detail}"


def _declared(report: Report) -> Iterator[str]:
    declared = report.declared
    if declared is None:
        yield "its declaration does not count, so a validator sends it nothing"
        return
    types = ", ".join(declared.types) or "nothing that counts"
    yield f"declares {types}; {declared.max_concurrent} at once of a type"
    if not report.public:
        yield "the address is not public: validators on chain refuse it (deadline_axon_refused)"


def _row(one: Outcome) -> tuple[object, ...]:
    seconds = NONE if one.seconds is None else f"{one.seconds:.2f}"
    window = f"{one.t_min_s:g}-{one.deadline_s:g}"
    worth = 0.0 if one.reason is Reason.ACCEPTED_EARLY else one.score
    score = NONE if worth is None else f"{worth:.2f}"
    return (str(one.skill_type), one.role, one.trial, seconds, window, _gates(one), score, " ".join(_parts(one)))


def _gates(one: Outcome) -> str:
    failed = next((gate for gate in one.gates if gate.result == "failed"), None)
    if failed is not None:
        return f"failed {failed.number}: {one.reason}"
    if one.reason is Reason.ACCEPTED_EARLY:
        return "passed, early"
    subset = "" if one.semantic_subset is None else f", 7: {one.semantic_subset:.2f}"
    passed = [str(gate.number) for gate in one.gates if gate.result == "passed"]
    return f"passed {' '.join(passed)}{subset}" if passed else str(one.reason)


def _parts(one: Outcome) -> Iterator[str]:
    if one.quality is not None:
        yield from (f"{axis.name} {axis.value:.2f}" for axis in one.quality.axes if axis.value is not None)
        yield f"epsilon {one.quality.epsilon:.2f}"
    if one.plan is not None:
        quality = "judged later" if one.plan.output_quality is None else f"{one.plan.output_quality:.2f}"
        yield f"output {quality}"
        yield f"steps {one.plan.steps_completed}/{one.plan.total_steps}"
        yield from (f"{part.name} {part.value:.2f}" for part in one.plan.parts)


def _sum(report: Report) -> str:
    faults = len(fault_lines(report))
    sent = len(report.outcomes)
    scores = [one.score for one in report.outcomes if one.score is not None and one.part in _SCORED]
    mean = f"; mean of Q and S {sum(scores) / len(scores):.2f}" if scores else ""
    passed = sum(not one.faults for one in report.outcomes)
    if not faults:
        return f"passed: {passed} of {sent} dispatches as a validator wants them{mean}"
    kinds = "1 fault" if faults == 1 else f"{faults} faults"
    return f"not passed: {kinds}; {passed} of {sent} dispatches as a validator wants them{mean}"
