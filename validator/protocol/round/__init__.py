"""One round as data: the frozen input, the plan, what came back, and the outcome (SPEC 4 to 11).

`RoundInput` holds everything that decides a round, so that plan and outcome can be recomputed from it byte for byte.
"""

from validator.protocol.round.frozen import (
    INPUT_VERSION,
    AgreementPair,
    ExecutionResult,
    FilledQuality,
    MinerState,
    RoundInput,
    TypeHistory,
)
from validator.protocol.round.outcome import (
    AgreementSample,
    AssessedMember,
    Components,
    Emission,
    FailedMember,
    FlagRaised,
    GroupOutcome,
    MemberOutcome,
    RanMember,
    ReputationEvent,
    ReputationKind,
    RoundOutcome,
    WorkflowOutcome,
)
from validator.protocol.round.plan import (
    GroupPlan,
    Mode,
    RoundPlan,
)
from validator.protocol.round.raw import RawAnswer, RawAnswers
from validator.protocol.round.results import (
    Checks,
    Judgement,
    Packed,
    Passed,
    Rejection,
    RoundResults,
    Submission,
    VoidDispatch,
    VoidTask,
    WorkflowSubmission,
    packed,
)
from validator.protocol.round.snapshot import (
    Axon,
    MetagraphSnapshot,
    Neuron,
)
from validator.protocol.round.tasks import AssessmentTask, GoalTask, RoundTask, is_committed

__all__ = [
    "INPUT_VERSION",
    "AgreementPair",
    "AgreementSample",
    "AssessedMember",
    "AssessmentTask",
    "Axon",
    "Checks",
    "Components",
    "Emission",
    "ExecutionResult",
    "FailedMember",
    "FilledQuality",
    "FlagRaised",
    "GoalTask",
    "GroupOutcome",
    "GroupPlan",
    "Judgement",
    "MemberOutcome",
    "MetagraphSnapshot",
    "MinerState",
    "Mode",
    "Neuron",
    "Packed",
    "Passed",
    "RanMember",
    "RawAnswer",
    "RawAnswers",
    "Rejection",
    "ReputationEvent",
    "ReputationKind",
    "RoundInput",
    "RoundOutcome",
    "RoundPlan",
    "RoundResults",
    "RoundTask",
    "Submission",
    "TypeHistory",
    "VoidDispatch",
    "VoidTask",
    "WorkflowOutcome",
    "WorkflowSubmission",
    "is_committed",
    "packed",
]
