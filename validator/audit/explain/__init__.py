"""Why a number is what it is: a round as one miner met it, and a miner's last rounds, as plain values.

Everything is computed from what is stored by the functions that scored it. The field names are what `--json` shows, so
they are part of the interface.
"""

from validator.audit.explain.miner import MinerExplanation, explain_miner
from validator.audit.explain.round import NothingToExplainError, RoundExplanation, explain_round

__all__ = [
    "MinerExplanation",
    "NothingToExplainError",
    "RoundExplanation",
    "explain_miner",
    "explain_round",
]
