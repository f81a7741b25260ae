"""Functions that a round's code calls through its version, so that a later version can override them (a Protocol)."""

from collections.abc import Iterator, Sequence
from typing import Protocol

from sssa.protocol.results import RoundResults
from sssa.protocol.round import (
    AgreementSample,
    FlagRaised,
    GroupPlan,
    MemberOutcome,
    ReputationKind,
    RoundInput,
    RoundTask,
)
from sssa.scoring.scoring_types import AnyCandidate, PlannedTask, ScoredTask
from sssa.scoring.v1.keys import FindingKeys
from sssa.scoring.v1.rules import Ruled


class Ranking(Ruled, Protocol):
    """A version, as far as the order of candidates needs it."""

    def rank_key(self, candidate: AnyCandidate) -> tuple[float, ...]:
        """Return what candidates are ordered by before their draws."""


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
        """Return the outcome of one task."""

    def collusion_round(
        self, frozen: RoundInput, scored: Sequence[tuple[RoundTask, ScoredTask]]
    ) -> tuple[tuple[AgreementSample, ...], tuple[FlagRaised, ...]]:
        """Return the collusion samples of a round, and the flags that they raise."""

    def member_event(self, member: MemberOutcome) -> ReputationKind | None:
        """Return the reputation event of one dispatch."""
