"""What a round comes to: groups, members, samples, flags, reputation (SPEC 4 to 12)."""

from typing import Final, Literal

from validator.protocol.answer import Role
from validator.protocol.reasons import Reason
from validator.protocol.round.plan import Mode
from validator.protocol.skill_types import SkillType
from validator.protocol.sssa import Document
from validator.protocol.workflow_score import WorkflowRun, WorkflowScore

TaskEndState = Literal["settled", "void", "skipped"]
_SETTLED: Final = frozenset({Reason.SETTLED, Reason.VOID_NO_VERDICT})
_SKIPPED: Final = frozenset({Reason.SKIPPED_NO_CANDIDATES, Reason.SKIPPED_NO_TASKS})

ReputationKind = Literal[
    "consensus_high",
    "consensus_low",
    "invalid",
    "violation",
    "digest_mismatch",
    "probe_fail",
    "rerun_pass",
    "rerun_fail",
    "collusion_flag",
    "recovery",
]


class Components(Document, frozen=True):
    """The seven components of SPEC 4, each in [0, 1]."""

    findings_recall: float
    findings_precision: float
    verdict_agreement: float
    capabilities_agreement: float
    risk_agreement: float
    dependencies_agreement: float
    policy_agreement: float


class Emission(Document, frozen=True):
    """One answer's reward with everything that made it (SPEC 6, 7)."""

    axes: dict[str, float]
    epsilon: float
    quality: float
    base_weight: float
    tier: float
    early_bonus: float
    role: float
    consensus: float
    bootstrap: float
    emission: float


class WorkflowOutcome(Document, frozen=True):
    """What a run was measured at, and what that is worth (SPEC 12)."""

    measured: WorkflowRun
    score: WorkflowScore


class AnyMember(Document, frozen=True):
    """What every dispatch came to.

    Attributes:
        task_id, hotkey, role: which one.
        reason: code of why it came to that.
        consensus: in [0, 1]; 1.0 where nothing was compared, 0.0 for a failed gate.
        window_entry: what enters the miner's score window; None where nothing does.
    """

    task_id: str
    hotkey: str
    role: Role
    reason: Reason
    consensus: float
    window_entry: float | None


class FailedMember(AnyMember, frozen=True):
    """A dispatch of either kind that failed a gate."""


class AssessedMember(AnyMember, frozen=True):
    """A valid answer to an assessment.

    Attributes:
        components: None where consensus is off (D-3).
        agreement_with_primaries, agreement_with_auditors: None without a counterpart.
        emission: None where there is no verdict to score against (D-7).
    """

    components: Components | None
    agreement_with_primaries: float | None
    agreement_with_auditors: float | None
    emission: Emission | None


class RanMember(AnyMember, frozen=True):
    """A plan that was run; `workflow` is None while the quality of its output is not known."""

    workflow: WorkflowOutcome | None


MemberOutcome = FailedMember | AssessedMember | RanMember
"""What one dispatch came to. Its class says whether it failed a gate, and of which kind it is if not."""


class GroupOutcome(Document, frozen=True):
    """A task's group result (SPEC 4). Sets are sorted; `verdict` and `mean_risk` None below 3 valid SSSAs."""

    task_id: str
    reason: Reason
    mode: Mode
    n_valid: int
    threshold: int
    verdict: str | None
    mean_risk: float | None
    finding_keys: tuple[str, ...]
    provenance: Literal["curated", "canary", "consensus"] | None
    scored_verdict: str | None
    auditor_agreement: float | None

    @property
    def task_state(self) -> TaskEndState:
        """Return the state in which the reason leaves the task."""
        if self.reason in _SETTLED:
            return "settled"
        return "skipped" if self.reason in _SKIPPED else "void"


class AgreementSample(Document, frozen=True):
    """A collusion sample of one (hotkey, skill_type, round); stored whether it counted or not (SPEC 9)."""

    hotkey: str
    skill_type: SkillType
    with_primaries: float | None
    with_auditors: float | None
    counted: bool
    reason: Reason


class FlagRaised(Document, frozen=True):
    """A collusion flag with the means that raised it."""

    hotkey: str
    skill_type: SkillType
    mean_with_primaries: float
    mean_with_auditors: float
    samples: int


class ReputationEvent(Document, frozen=True):
    """One step of one reputation, in the order of SPEC 10. `cause` is a task id or empty."""

    hotkey: str
    skill_type: SkillType
    kind: ReputationKind
    cause: str
    before: float
    after: float


class RoundOutcome(Document, frozen=True):
    """What a round comes to; one transaction stores it. Its stored form is `OutcomeForm` in `forms.py`."""

    round_id: str
    scoring_version: str
    groups: tuple[GroupOutcome, ...]
    members: tuple[MemberOutcome, ...]
    samples: tuple[AgreementSample, ...]
    flags: tuple[FlagRaised, ...]
    reputation: tuple[ReputationEvent, ...]
