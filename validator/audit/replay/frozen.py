"""What else is stored of a round's input, and must agree with it."""

from collections.abc import Iterator

from validator.audit.replay.compare import Difference
from validator.audit.replay.plain import compared
from validator.protocol.draws import round_seed, salt_commitment, task_id
from validator.protocol.round import RoundInput
from validator.store.records import RoundRecord, SaltRecord


def input_differences(frozen: RoundInput, record: RoundRecord, salt: SaltRecord | None) -> Iterator[Difference]:
    """Yield where the frozen input contradicts the round's own columns, its epoch's salt or its tasks' ids.

    The seed is never shown: it is secret while its salt is in use.
    """
    snapshot = frozen.snapshot
    columns = {"round_id": record.round_id, "epoch": record.epoch, "block": record.block, "hash": record.block_hash}
    own = {
        "round_id": frozen.index,
        "epoch": snapshot.epoch,
        "block": snapshot.block,
        "hash": snapshot.block_hash,
    }
    difference = compared("round", columns, own)
    if difference is not None:
        yield difference
    if salt is None or salt_commitment(salt.salt) != frozen.salt_commitment:
        yield Difference("input.salt_commitment", "the stored salt of its epoch is another one, or missing")
    elif round_seed(salt.salt, frozen.round_id, snapshot.block_hash).hex() != frozen.seed:
        yield Difference("input.seed", "does not follow from the stored salt")
    for i, task in enumerate(frozen.tasks):
        own_id = task_id(frozen.round_id, str(task.skill_type), task.slot, task.source_sha256)
        difference = compared(f"input.tasks[{i}].task_id", task.task_id, own_id)
        if difference is not None:
            yield difference
