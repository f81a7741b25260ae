"""Rounds computed again from what is stored, and held against what was stored then."""

from validator.audit.replay.compare import Difference
from validator.audit.replay.elsewhere import ReplayErrand, replay_elsewhere
from validator.audit.replay.many import replay_rounds, round_ids
from validator.audit.replay.report import Bodies, RoundReplay
from validator.audit.replay.rounds import replay_round

__all__ = [
    "Bodies",
    "Difference",
    "ReplayErrand",
    "RoundReplay",
    "replay_elsewhere",
    "replay_round",
    "replay_rounds",
    "round_ids",
]
