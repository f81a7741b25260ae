"""The invariants of a history: they hold after every kill, every stop and at the end."""

from collections import Counter
from typing import TYPE_CHECKING

from simulation.loop import SimulationError
from validator.audit.log.export import EVERY, audit_lines, first_sequence
from validator.audit.log.lines import FaultError
from validator.audit.log.verify import verify_file
from validator.protocol.reasons import Reason
from validator.store import Store

if TYPE_CHECKING:
    from simulation.history import History


async def check(history: "History", store: Store, *, whole: bool) -> Counter[str]:
    """Check everything that must hold now; return how many rounds ended, by state.

    Raises:
        SimulationError: naming what does not.
    """
    _log_is_clean(history)
    rounds = await _rounds_end_once(history, store)
    if whole:
        await _verifies(history, store)
    return rounds


def require(holds: object, text: str) -> None:
    """Raise SimulationError unless it holds."""
    if not holds:
        raise SimulationError(text)


def _log_is_clean(history: "History") -> None:
    """No line of the log names a bug, but for what a crash left."""
    for line in history.log:
        reason = str(line.get("reason", ""))
        bug = reason.startswith("bug_") and (reason != Reason.BUG_CRASH or not history.crashes)
        if bug or line["log_level"] in ("exception", "error", "critical"):
            raise SimulationError(f"the log has {line}")


async def _rounds_end_once(history: "History", store: Store) -> Counter[str]:
    async with store.read() as tx:
        records = await tx.rounds.listing(1_000)
        told = Counter[int]()
        for sequence in range(await tx.receipts.count()):
            record = await tx.receipts.get(sequence)
            if record is not None and record.round_id is not None:
                told[record.round_id] += 1
    for one in records:
        if one.state in ("settled", "void", "abandoned", "skipped"):
            require(told[one.round_id] == 1, f"round {one.round_id} is {one.state} with {told[one.round_id]} receipts")
        else:
            require(told[one.round_id] == 0, f"round {one.round_id} is {one.state} and has a receipt")
    twice = [name for name, many in Counter(history.universe.told.ended_rounds).items() if many > 1]
    require(not twice, f"the end of round {twice} was told twice")
    return Counter(one.state for one in records)


async def _verifies(history: "History", store: Store) -> None:
    path = history.universe.folder / "log.jsonl"
    async with store.read() as tx:
        first = await first_sequence(tx, None)
        if first is None:
            return
        count = await tx.receipts.count()
        path.write_bytes(
            b"".join([data + b"\n" for number in range(first, count) async for data in audit_lines(tx, number, EVERY)])
        )
    try:
        verify_file(path)
    except FaultError as error:
        raise SimulationError(f"audit verify: {error}") from error
