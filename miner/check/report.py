"""The report of a check: plain values, as `--json` prints them."""

from typing import Literal

from miner.check.sections import Section
from validator.kinds.assessment.explain.quality import Quality
from validator.kinds.explained.task import Gate
from validator.protocol.answer import Role
from validator.protocol.reasons import Reason
from validator.protocol.skill_types import SkillType
from validator.protocol.sssa import Document


class Fault(Document, frozen=True):
    """Something to change.

    Attributes:
        code: a reason code, a check of epsilon's, or one of `strangers.py`.
        gate: its number; None where no gate says so.
        meaning: what it means.
        detail: what was seen, with the field; perhaps empty.
        field: of answer or request, perhaps empty.
        todo: what to change.
    """

    code: str
    gate: int | None
    meaning: str
    detail: str
    field: str
    todo: str


class PlanPart(Document, frozen=True):
    """One part of a plan's S: `contribution` is weight times value."""

    name: str
    weight: float
    value: float
    contribution: float


class PlanWorth(Document, frozen=True):
    """What a plan came to when it was run.

    Attributes:
        output_quality: None for code, which is judged after a round.
        steps_completed, total_steps: of the run.
        parts: of S, as far as `output_quality` is known; else as if it were 0.
    """

    output_quality: float | None
    steps_completed: int
    total_steps: int
    parts: tuple[PlanPart, ...]


class Outcome(Document, frozen=True):
    """What one dispatch came to.

    Attributes:
        seconds: first byte sent to last byte received; None where nothing was sent.
        status: of the response; None without one.
        reason: as a validator would store it.
        gates: 1 to 6.
        semantic_subset: gate 7, against a run of the reference tracer; None where it does not apply.
        quality: of an assessment that passed, against the bundle's truth.
        plan: of a plan that passed.
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


class StrangerOutcome(Document, frozen=True):
    """What became of a request that no validator sends.

    Attributes:
        request: what was wrong with it.
        wanted: `refused`: a status of 4xx; `survived`: any answer of the miner's but an error of its own.
        seen: the status, or why there is none.
    """

    request: str
    wanted: Literal["refused", "survived"]
    seen: str
    fault: Fault | None


class Declared(Document, frozen=True):
    """The miner's declaration.

    Attributes:
        types: what it takes, in the spec's order.
        max_concurrent: open dispatches of one type.
    """

    types: tuple[SkillType, ...]
    max_concurrent: int


class Report(Document, frozen=True):
    """A check.

    Attributes:
        url, hotkey: the miner.
        caller: the hotkey that signed.
        public: whether a validator on chain would call that address.
        declared: None where the declaration does not count; `faults` then says why, and nothing else was sent.
        faults: of the declaration.
    """

    url: str
    hotkey: str
    caller: str
    scoring_version: str
    public: bool
    declared: Declared | None
    faults: tuple[Fault, ...]
    outcomes: tuple[Outcome, ...]
    strangers: tuple[StrangerOutcome, ...]

    @property
    def found(self) -> list[tuple[str, Fault]]:
        """Every fault with what it was seen at, in order."""
        return [
            *(("declaration", fault) for fault in self.faults),
            *((_where(one), fault) for one in self.outcomes for fault in one.faults),
            *((f"stranger: {one.request}", one.fault) for one in self.strangers if one.fault is not None),
        ]


def _where(one: Outcome) -> str:
    return f"{one.skill_type} {one.role}, {one.trial}"
