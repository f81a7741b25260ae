"""Behaviours of the crowd by name: honest ones of the reference miner, and cheats, which that must not ship.

Cheats share answers (`cohort`), make up traces (`inventing`), sleep or copy. Read by `population.py`; no I/O.
"""

from typing import Final

from localnet.invented_traces import Copying, answer_without_a_run, invent_a_run, invent_a_run_carelessly
from localnet.roster import Resident
from localnet.shared_answers import Cohort
from miner.behaviours import (
    Behaviour,
    Replayed,
    answer_carelessly,
    answer_late,
    answer_nothing,
    answer_thoroughly,
    answer_with_gaps,
    send_garbage,
    send_too_much,
    sign_with_another_key,
)

_SIMPLE: Final[dict[str, Behaviour]] = {
    "thorough": answer_thoroughly,
    "partial": answer_with_gaps,
    "sloppy": answer_carelessly,
    "lazy": answer_nothing,
    "slow": answer_late,
    "dead": answer_thoroughly,  # it stops listening before its first dispatch: LocalMiner's `dies_after`
    "garbage": send_garbage,
    "oversized": send_too_much,
    "wrong_signature": sign_with_another_key,
    "inventing": invent_a_run_carelessly,
    "pretending": invent_a_run,
    "sleeping": answer_without_a_run,
    "copying": Copying(),
}


def behaviour_of(resident: Resident, seed: str) -> Behaviour:
    """Return how the resident behaves.

    Args:
        resident: who it is.
        seed: the network's; the cohort's secret follows from it.
    """
    if resident.kind == "cohort":
        return Cohort(f"{seed}|cohort", resident.turns)
    return Replayed() if resident.kind == "replayed" else _SIMPLE[resident.kind]
