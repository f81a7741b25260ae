"""Why a number is what it is: a round as one miner met it, and a miner's last rounds, as plain values.

Everything is computed from what is stored by the functions that scored it. The field names are what `--json` shows, so
they are part of the interface.
"""

from validator.audit.explain.miner import MinerExplanation, explain_miner
from validator.audit.explain.round import NothingToExplainError, RoundExplanation, explain_round
from validator.audit.explain.task import AssessmentExplanation
from validator.audit.explain.workflow import WorkflowExplanation

__all__ = [
    "AssessmentExplanation",
    "MinerExplanation",
    "NothingToExplainError",
    "RoundExplanation",
    "WorkflowExplanation",
    "explain_miner",
    "explain_round",
]
