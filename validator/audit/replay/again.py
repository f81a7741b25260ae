"""The gates once more, over the raw answers that are still kept."""

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from itertools import accumulate, groupby
from typing import Final

from validator.audit.replay.compare import Difference
from validator.audit.replay.gates import StoredGates
from validator.audit.replay.plain import compared
from validator.audit.replay.report import Bodies
from validator.protocol.reasons import Reason
from validator.protocol.round import Judgement, Rejection, RoundInput
from validator.store import DispatchKey, Transaction
from validator.store.dispatch import Dispatch
from validator.store.errors import DamagedError

_TOGETHER: Final = 1024 * 1024  # bytes of bodies that are read at once; the last of them may reach beyond


async def judge_again(
    tx: Transaction,
    frozen: RoundInput,
    all_records: Sequence[Dispatch],
    records: Sequence[Dispatch],
    stored: Mapping[DispatchKey, Judgement],
) -> tuple[Bodies, tuple[Difference, ...]]:
    """Return how many answers could be judged again, and where the judgements differ from the stored ones.

    Bodies are read a few at a time: a round's answers together may be larger than the memory. What was too costly to
    judge is never judged again: the stored reason stands (D-27).

    Args:
        tx: for the bodies.
        frozen: the round's input.
        all_records: its dispatches.
        records: those that count: neither void nor of a void task.
        stored: their judgements as stored.
    """
    gates = StoredGates(frozen)
    counted: Counter[str] = Counter()
    damaged: list[Difference] = []
    brought = [record for record in records if record.body_bytes is not None and record.seconds is not None]
    kept = [record for record in brought if record.reason != Reason.PARSE_TOO_COSTLY]
    counted["too_costly"] = len(brought) - len(kept)
    few = sum(record.body_bytes or 0 for record in all_records) <= _TOGETHER
    async for record, body in _bodies(tx, kept, few=few):
        if isinstance(body, DamagedError):
            damaged.append(Difference(_path(record.key), str(body)))
            continue
        if body is None or record.seconds is None:
            counted["pruned"] += 1
            continue
        if len(body) != record.body_bytes:
            damaged.append(Difference(_path(record.key), f"stored {len(body)} bytes, received {record.body_bytes}"))
        elif record.raw is not None and not record.raw.holds(body):
            damaged.append(Difference(_path(record.key), "the stored bytes are not those that arrived: other digest"))
        gates.judge((record.key.task_id, record.key.hotkey), record.role, body, record.seconds, stored.get(record.key))
        counted["judged"] += 1
    bodies = Bodies(
        judged=counted["judged"],
        pruned=counted["pruned"],
        too_costly=counted["too_costly"],
        dispatches=len(records),
    )
    again = {DispatchKey(frozen.index, *key): judgement for key, judgement in gates.judgements().items()}
    return bodies, (*damaged, *_differences(frozen, stored, again))


async def _bodies(
    tx: Transaction, records: Sequence[Dispatch], *, few: bool
) -> AsyncIterator[tuple[Dispatch, bytes | DamagedError | None]]:
    """Yield each record with its body, read with as many others as are small enough together: if few bytes, all."""
    if few and records:
        found = await tx.dispatches.bodies_of_round(records[0].key.round_id)
        for record in records:
            yield record, found.pop(record.key, None)
        return
    for _, some in groupby(zip(records, accumulate(record.body_bytes or 0 for record in records), strict=True), _part):
        together = [record for record, _ in some]
        found = await tx.dispatches.answer_bodies([record.key for record in together])
        for record in together:
            yield record, found.pop(record.key, None)


def _part(counted: tuple[Dispatch, int]) -> int:
    return counted[1] // _TOGETHER


def _differences(
    frozen: RoundInput, stored: Mapping[DispatchKey, Judgement], again: Mapping[DispatchKey, Judgement]
) -> Iterator[Difference]:
    partial = _without_witnesses(frozen, stored, again)
    for key, judgement in again.items():
        if key not in stored:
            continue
        values = [_alone(value) if key.task_id in partial else value for value in (stored[key], judgement)]
        difference = compared(_path(key), *values)
        if difference is not None:
            yield difference


def _without_witnesses(
    frozen: RoundInput, stored: Mapping[DispatchKey, Judgement], again: Mapping[DispatchKey, Judgement]
) -> set[str]:
    """Return the tasks of whose witnesses an accepted answer is missing: gate 7 needs them all (D-21)."""
    types = {task.task_id: task.skill_type for task in frozen.tasks}
    return {
        key.task_id
        for key, judgement in stored.items()
        if key not in again and not isinstance(judgement, Rejection) and judgement.is_witness(types[key.task_id])
    }


def _alone(judgement: Judgement) -> Judgement:
    return judgement if isinstance(judgement, Rejection) else judgement.alone()


def _path(key: DispatchKey) -> str:
    return f"gates[{key.task_id}/{key.hotkey}]"
