"""What was last sent to the chain, and what it was made of (SPEC 11)."""

import math
from dataclasses import dataclass
from datetime import datetime

from validator.store import Transaction
from validator.store.rows import UnpaidTold, WeightsRecord, WeightsState


@dataclass(frozen=True, slots=True)
class WeightLine:
    """One hotkey's share. `uid` is None where the newest stored metagraph does not name the hotkey."""

    hotkey: str
    uid: int | None
    score: float | None
    weight: float


@dataclass(frozen=True, slots=True)
class WeightsView:
    """A submission.

    Attributes:
        sum: of the miners' weights; with `unallocated` it comes to 1.
        unallocated: share that no miner takes: the subnet owner's, or dropped (D-11).
        miners: largest weight first, then largest score, then by hotkey; those with a score but no weight included.
        scoring_version: that it was computed under.
        unpaid: windows that it did not pay, with what was in force then (SPEC 16, D-23).
    """

    id: int
    netuid: int
    mechid: int
    epoch: int
    state: WeightsState
    block: int | None
    message: str | None
    extrinsic: str | None
    created_at: datetime
    updated_at: datetime
    sum: float
    unallocated: float
    miners: tuple[WeightLine, ...]
    scoring_version: str | None
    unpaid: tuple[UnpaidTold, ...] | None


async def latest_weights(tx: Transaction, mechid: int) -> WeightsView | None:
    """Return the mechanism's newest submission, whatever became of it; None before the first."""
    record = await tx.weights.latest(mechid)
    if record is None:
        return None
    vector = await tx.vectors.of_epoch(record.netuid, mechid, record.epoch)
    unpaid = None if vector is None else tuple(one.told for one in vector.unpaid)
    uids = {hotkey: uid for hotkey, uid, registered in await tx.miners.uids() if registered}
    return WeightsView(
        id=record.id,
        netuid=record.netuid,
        mechid=record.mechid,
        epoch=record.epoch,
        state=record.state,
        block=record.block,
        message=record.message,
        extrinsic=record.extrinsic,
        created_at=record.created_at,
        updated_at=record.updated_at,
        sum=math.fsum(record.vector.values()),
        unallocated=record.unallocated,
        miners=_lines(record, uids),
        scoring_version=None if vector is None else vector.scoring_version,
        unpaid=unpaid,
    )


def _lines(record: WeightsRecord, uids: dict[str, int]) -> tuple[WeightLine, ...]:
    lines = [
        WeightLine(hotkey, uids.get(hotkey), record.scores.get(hotkey), record.vector.get(hotkey, 0.0))
        for hotkey in record.vector.keys() | record.scores.keys()
    ]
    return tuple(sorted(lines, key=lambda line: (-line.weight, -(line.score or 0.0), line.hotkey)))
