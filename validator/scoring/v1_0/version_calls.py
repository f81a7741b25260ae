"""Functions that a round's code calls through its version, so that a later version can override them (a Protocol)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from validator.protocol.reasons import Reason
from validator.protocol.results import RoundResults
from validator.protocol.round import (
    AgreementSample,
    ExecutionResult,
    FlagRaised,
    GroupPlan,
    MemberOutcome,
    ReputationKind,
    RoundInput,
    RoundOutcome,
    RoundPlan,
    RoundTask,
)
from validator.protocol.workflow_plan import WorkflowPlan
from validator.protocol.workflow_run import RunRecord, WorkflowRun, WorkflowScore
from validator.protocol.workflow_task import WorkflowTask
from validator.scoring.constants import Ruled
from validator.scoring.v1_0.keys import FindingKeys
from validator.scoring.values import DeferredRun, PlannedTask, ScoredTask
from validator.state.values import ExecutedTask

Entry = tuple[str, str, str, float]
"""Hotkey, skill type, task id and value of what enters a score window."""


class Scoring(Ruled, Protocol):
    """A version, as far as a round's groups, its scores and its step need it."""

    @property
    def name(self) -> str:
        """As the outcome carries it."""

    def plan_tasks(self, frozen: RoundInput) -> Iterator[PlannedTask]:
        """Yield every task with its group."""

    def score_group(
        self, frozen: RoundInput, task: RoundTask, group: GroupPlan, results: RoundResults, keys: FindingKeys
    ) -> ScoredTask:
        """Return what one task comes to."""

    def round_outcome(
        self,
        frozen: RoundInput,
        plan: RoundPlan,
        void: Mapping[str, Reason],
        scored: Mapping[str, ScoredTask],
    ) -> RoundOutcome:
        """Return what a round comes to."""

    def collusion_round(
        self, frozen: RoundInput, scored: Sequence[tuple[RoundTask, ScoredTask]]
    ) -> tuple[tuple[AgreementSample, ...], tuple[FlagRaised, ...]]:
        """Return the collusion samples of a round, and the flags that they raise."""

    def member_event(self, member: MemberOutcome) -> ReputationKind | None:
        """Return the reputation event of what one dispatch came to."""

    def window_entries(self, frozen: RoundInput, outcome: RoundOutcome) -> Iterator[Entry]:
        """Yield what enters score windows."""

    def filled_entries(self, frozen: RoundInput) -> Iterator[Entry]:
        """Yield what enters them late."""

    def struck_entries(self, frozen: RoundInput) -> tuple[ExecutionResult, ...]:
        """Return the entries that become 0."""

    def executed_tasks(self, frozen: RoundInput, plan: RoundPlan, outcome: RoundOutcome) -> tuple[ExecutedTask, ...]:
        """Return the tasks that are executed."""

    def deferred_runs(self, frozen: RoundInput, plan: RoundPlan, outcome: RoundOutcome) -> tuple[DeferredRun, ...]:
        """Return the runs whose quality is to come."""

    def tao(self, amount: float) -> float:
        """Return an amount of TAO as it is compared."""

    def total_tao(self, amounts: Iterable[float]) -> float:
        """Return the sum of amounts of TAO."""

    def totals_fault(self, plan: WorkflowPlan) -> str | None:
        """Return what gate 2 has against a plan's totals."""

    def ceiling_of(self, task: WorkflowTask, plan: WorkflowPlan) -> float:
        """Return the most TAO that a run may cost."""

    def measure(self, task: WorkflowTask, plan: WorkflowPlan, record: RunRecord, quality: float) -> WorkflowRun:
        """Return what the formula scores."""

    def code_quality(self, passed: int, total: int, findings: int) -> float:
        """Return how good code is."""

    def score_workflow(self, run: WorkflowRun) -> WorkflowScore:
        """Return the parts of S and S."""
