"""Scores, as values. The only door to them is `version(name)`: a round is scored by its own version, for good.

Pure: no clock, no randomness, no I/O, no settings.
"""

from validator.scoring.rules import Rules
from validator.scoring.values import (
    Addend,
    AnswerFacts,
    Candidate,
    Claims,
    Comparison,
    Fault,
    Member,
    MemberConsensus,
    MinerStanding,
    Penalty,
    PlannedTask,
    Share,
    TypeStanding,
    WeightPlan,
)
from validator.scoring.versions import CURRENT, UnknownScoringVersionError, Version, version

__all__ = [
    "CURRENT",
    "Addend",
    "AnswerFacts",
    "Candidate",
    "Claims",
    "Comparison",
    "Fault",
    "Member",
    "MemberConsensus",
    "MinerStanding",
    "Penalty",
    "PlannedTask",
    "Rules",
    "Share",
    "TypeStanding",
    "UnknownScoringVersionError",
    "Version",
    "WeightPlan",
    "version",
]
