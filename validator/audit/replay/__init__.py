"""Rounds computed again from what is stored, and held against what was stored then."""

from typing import TYPE_CHECKING

from validator.audit.replay.differences import Difference
from validator.doors import door

if TYPE_CHECKING:
    from validator.audit.replay.batches import replay_rounds, round_ids
    from validator.audit.replay.distributed import ReplayErrand, replay_elsewhere
    from validator.audit.replay.groups import Bodies
    from validator.audit.replay.rounds import RoundReplay, replay_round
else:  # these read a store; comparing has no use for one
    __getattr__ = door(
        __name__,
        {
            "Bodies": "groups",
            "ReplayErrand": "distributed",
            "RoundReplay": "rounds",
            "replay_elsewhere": "distributed",
            "replay_round": "rounds",
            "replay_rounds": "batches",
            "round_ids": "batches",
        },
    )

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
