"""Options of `validator localnet up`, and the tempo, patience and rate limit that follow from them. No I/O."""

from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Final

from sssa.protocol.skill_types import ASSESSED_TYPES, SkillType

# On the machine itself, and not the one loopback address that the chain takes from nobody, 127.0.0.1.
HOST: Final = "127.0.0.2"
_EPOCH_S: Final = 90.0
_TEMPOS: Final = (20, 360)
_BUSY_S: Final = 300.0  # for the first rounds, next to the epochs


@dataclass(frozen=True, slots=True)
class UpOptions:
    """Options of `localnet up`.

    Attributes:
        folder: for wallets, settings, tasks, the store and the log; what is in it is used again.
        netuid: of a subnet that exists; None: the one that the folder knows, else a new one.
        miners: how many; from 1 to 16.
        tempo: blocks from one epoch to the next, on old runtimes one less; None: what makes
            about 90 s, from 20 to 360.
        host: the address of this machine at which the miners listen and are announced.
        skill_types: of the tasks.
        epochs: after so many without a vector it gives up.
        stay: whether it continues after the vector has landed.
    """

    folder: Path
    netuid: int | None = None
    miners: int = 5
    tempo: int | None = None
    host: str = HOST
    skill_types: tuple[SkillType, ...] = ASSESSED_TYPES
    epochs: int = 5
    stay: bool = False

    def tempo_at(self, block_s: float) -> int:
        """Return the tempo for a chain with a block every `block_s` seconds."""
        if self.tempo is not None:
            return self.tempo
        return max(_TEMPOS[0], min(_TEMPOS[1], ceil(_EPOCH_S / block_s)))

    def patience(self, block_s: float, tempo: int) -> int:
        """Return after how many blocks without a vector it gives up."""
        return self.epochs * (tempo + 1) + ceil(_BUSY_S / block_s)


def before_end(tempo: int) -> int:
    """Return how many blocks before its end an epoch's weights are sent: in time to become final."""
    return max(8, tempo // 3)


def rate_limit(tempo: int) -> int:
    """Return the blocks between two submissions: every epoch's weights must pass."""
    return max(1, min(20, tempo // 3))
