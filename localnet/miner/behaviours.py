"""How local miners behave, by name."""

from typing import Protocol

from localnet.miner.assessment import Assessment, Response
from localnet.miner.broken import Garbage, Oversized, Replayed, WrongSignature
from localnet.miner.careless import Lazy, Sloppy
from localnet.miner.cohort import Cohort
from localnet.miner.honest import Partial, Slow, Thorough
from localnet.miner.inventing import Copying, Inventing, Pretending, Sleeping
from localnet.roster import Resident


class Behaviour(Protocol):
    """What a miner makes of a dispatch. Everything follows from the hotkey and the task."""

    async def respond(self, assessment: Assessment) -> Response:
        """Return the body of the response."""


def behaviour_of(resident: Resident, seed: str) -> Behaviour:
    """Return how the resident behaves.

    Args:
        resident: who it is.
        seed: the network's; the cohort's secret follows from it.
    """
    return Cohort(f"{seed}|cohort", resident.turns) if resident.kind == "cohort" else _SIMPLE[resident.kind]()


_SIMPLE: dict[str, type[Behaviour]] = {
    "thorough": Thorough,
    "partial": Partial,
    "sloppy": Sloppy,
    "lazy": Lazy,
    "slow": Slow,
    "dead": Thorough,  # and gone before its first dispatch, see LocalMiner's `dies_after`
    "garbage": Garbage,
    "oversized": Oversized,
    "wrong_signature": WrongSignature,
    "replayed": Replayed,
    "inventing": Inventing,
    "pretending": Pretending,
    "sleeping": Sleeping,
    "copying": Copying,
}
