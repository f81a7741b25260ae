"""Scores, as values. The only door to them is `version(name)`: a round is scored by its own version, for good.

Pure: no clock, no randomness, no I/O, no settings.
"""

from validator.scoring.rules import ExecutionRules, Rules
from validator.scoring.schedule import DEFAULT, Schedule
from validator.scoring.v1_0.keys import FindingKeys
from validator.scoring.values import (
    Addend,
    AnswerFacts,
    Candidate,
    Claims,
    ComparedAnswer,
    ComparedExecution,
    Comparison,
    DeferredRun,
    ExecutedTask,
    ExecutionRun,
    Fault,
    Member,
    MemberConsensus,
    MinerStanding,
    Penalty,
    PlannedTask,
    ScoredTask,
    Share,
    Standard,
    StruckEntry,
    TracedAnswer,
    TypeStanding,
    WeightPlan,
)
from validator.scoring.versions import CURRENT, VERSIONS, UnknownScoringVersionError, Version, version

__all__ = [
    "CURRENT",
    "DEFAULT",
    "VERSIONS",
    "Addend",
    "AnswerFacts",
    "Candidate",
    "Claims",
    "ComparedAnswer",
    "ComparedExecution",
    "Comparison",
    "DeferredRun",
    "ExecutedTask",
    "ExecutionRules",
    "ExecutionRun",
    "Fault",
    "FindingKeys",
    "Member",
    "MemberConsensus",
    "MinerStanding",
    "Penalty",
    "PlannedTask",
    "Rules",
    "Schedule",
    "ScoredTask",
    "Share",
    "Standard",
    "StruckEntry",
    "TracedAnswer",
    "TypeStanding",
    "UnknownScoringVersionError",
    "Version",
    "WeightPlan",
    "version",
]
