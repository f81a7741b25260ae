"""One round as data: the frozen input, the plan, what came back, and the outcome (SPEC 4 to 11).

`RoundInput` holds everything that decides a round, so that plan and outcome can be recomputed from it byte for byte.
"""

from validator.protocol.round.frozen import (
    INPUT_VERSION,
    AgreementPair,
    MinerState,
    RerunResult,
    RoundInput,
    RoundTask,
    TypeHistory,
)
from validator.protocol.round.outcome import (
    AgreementSample,
    Components,
    Emission,
    FlagRaised,
    GroupOutcome,
    MemberOutcome,
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
from validator.protocol.round.results import (
    Checks,
    Judgement,
    Passed,
    Rejection,
    RoundResults,
    Submission,
    VoidTask,
    WorkflowSubmission,
    answer_type,
)
from validator.protocol.round.snapshot import (
    Axon,
    MetagraphSnapshot,
    Neuron,
)

__all__ = [
    "INPUT_VERSION",
    "AgreementPair",
    "AgreementSample",
    "Axon",
    "Checks",
    "Components",
    "Emission",
    "FlagRaised",
    "GroupOutcome",
    "GroupPlan",
    "Judgement",
    "MemberOutcome",
    "MetagraphSnapshot",
    "MinerState",
    "Mode",
    "Neuron",
    "Passed",
    "Rejection",
    "ReputationEvent",
    "ReputationKind",
    "RerunResult",
    "RoundInput",
    "RoundOutcome",
    "RoundPlan",
    "RoundResults",
    "RoundTask",
    "Submission",
    "TypeHistory",
    "VoidTask",
    "WorkflowOutcome",
    "WorkflowSubmission",
    "answer_type",
]
