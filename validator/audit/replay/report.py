"""What a replay comes to."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from validator.audit.replay.differences import Difference
from validator.protocol.reasons import Reason
from validator.store.rows import RoundState

Verdict = Literal["equal", "different", "unscored"]


@dataclass(frozen=True, slots=True)
class Bodies:
    """Raw answers of a round, void tasks aside.

    Attributes:
        judged: sent through the gates again.
        pruned: gone with their retention.
        too_costly: kept, and not judged again: their stored reason stands (D-27).
        dispatches: all there were, those that brought no body included.
    """

    judged: int = 0
    pruned: int = 0
    too_costly: int = 0
    dispatches: int = 0


@dataclass(frozen=True, slots=True)
class RoundReplay:
    """One round, computed again.

    Attributes:
        round_id: which one.
        state: of the round.
        reason: code of the round, None while it is open.
        scoring_version: that of its input; None without a readable one.
        verdict: `unscored` where nothing was to be scored (open, void, skipped, abandoned) and nothing differs.
        differences: the first of each part, in the order of the computation.
        bodies: how much of the gates could be computed again.
        digests: part to hex sha256 of what was computed here: the same on every machine, database and Python.
    """

    round_id: int
    state: RoundState
    reason: Reason | None
    scoring_version: str | None
    verdict: Verdict
    differences: tuple[Difference, ...]
    bodies: Bodies
    digests: Mapping[str, str]
