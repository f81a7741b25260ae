"""Behaviours of the crowd by name: honest ones of the reference miner, and cheats, which that must not ship.

Cheats share answers (`cohort`), make up traces (`inventing`), sleep or copy. Read by `population.py`; no I/O.
"""

from typing import Final

from localnet.invented_traces import Copying, Inventing, Pretending, Sleeping
from localnet.roster import Resident
from localnet.shared_answers import Cohort
from miner.behaviours import BEHAVIOURS, Behaviour

_SIMPLE: Final[dict[str, type[Behaviour]]] = {
    **BEHAVIOURS,
    "dead": BEHAVIOURS["thorough"],  # it stops listening before its first dispatch: LocalMiner's `dies_after`
    "inventing": Inventing,
    "pretending": Pretending,
    "sleeping": Sleeping,
    "copying": Copying,
}


def behaviour_of(resident: Resident, seed: str) -> Behaviour:
    """Return how the resident behaves.

    Args:
        resident: who it is.
        seed: the network's; the cohort's secret follows from it.
    """
    return Cohort(f"{seed}|cohort", resident.turns) if resident.kind == "cohort" else _SIMPLE[resident.kind]()
