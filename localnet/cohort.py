"""What a cohort that turned is paid, epoch by epoch: read back from the store, as anybody could."""

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from validator.store import Transaction
from validator.store.records import FlagRecord, WeightsRecord

_ALL = 1_000_000


@dataclass(frozen=True, slots=True)
class CohortPay:
    """One epoch's vector, as far as it concerns the cohort; weights are shares of the vector.

    Attributes:
        epoch: of the vector.
        state: of its submission.
        ejected: how many of the cohort had been ejected when the vector was computed.
        ejected_weight: what these got.
        weight: what the whole cohort got.
    """

    epoch: int
    state: str
    ejected: int
    ejected_weight: float
    weight: float


@dataclass(frozen=True, slots=True)
class CohortStory:
    """What came of the cohort.

    Attributes:
        members: hotkeys.
        ejections: hotkey to the round that raised the flag by which it was ejected.
        paid: every vector of the run, oldest first.
    """

    members: tuple[str, ...]
    ejections: dict[str, int]
    paid: tuple[CohortPay, ...]


async def cohort_story(tx: Transaction, cohort: Collection[str], ejecting: int, mechid: int) -> CohortStory:
    """Return when members of a cohort were ejected and what each vector of a mechanism paid them.

    Args:
        tx: reads.
        cohort: hotkeys.
        ejecting: so many standing flags eject (SPEC 8).
        mechid: the mechanism.
    """
    ejections = _ejections(await tx.flags.listing(), cohort, ejecting)
    records = [record for record in await tx.weights.listing(_ALL) if record.mechid == mechid]
    return CohortStory(
        tuple(cohort),
        {hotkey: flag.round_id for hotkey, flag in ejections.items()},
        tuple(_pay(record, cohort, ejections) for record in reversed(records)),
    )


def _ejections(flags: Sequence[FlagRecord], cohort: Collection[str], ejecting: int) -> dict[str, FlagRecord]:
    raised = defaultdict(list)
    for record in flags:
        raised[record.flag.hotkey].append(record)
    return {hotkey: raised[hotkey][ejecting - 1] for hotkey in cohort if len(raised[hotkey]) >= ejecting}


def _pay(record: WeightsRecord, cohort: Collection[str], ejections: Mapping[str, FlagRecord]) -> CohortPay:
    out = [hotkey for hotkey, flag in ejections.items() if flag.raised_at <= record.created_at]
    return CohortPay(
        record.epoch,
        record.state,
        len(out),
        math.fsum(record.vector.get(hotkey, 0.0) for hotkey in out),
        math.fsum(record.vector.get(hotkey, 0.0) for hotkey in cohort),
    )
