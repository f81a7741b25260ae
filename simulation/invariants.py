"""The invariants of a history: they hold after every kill, every stop and at the end."""

from collections import Counter
from typing import TYPE_CHECKING, Final

from simulation.loop import SimulationError
from simulation.universe import EPOCH_BLOCKS
from validator.audit.log.export import EVERY, audit_lines, first_sequence
from validator.audit.log.lines import FaultError
from validator.audit.log.verify import verify_file
from validator.audit.replay.rounds import replay_round
from validator.protocol.reasons import OURS, Reason
from validator.rounds.facts import PASSED
from validator.store import Store
from validator.store.checking import checks

if TYPE_CHECKING:
    from simulation.history import History

_MOST_ROUNDS: Final = 1_000
_REPLAYED: Final = 4  # of so many seeds one: replay judges every answer again, which takes as long as the history


async def check(history: "History", store: Store, *, whole: bool) -> Counter[str]:
    """Check everything that must hold now; return how many rounds ended, by state.

    Raises:
        SimulationError: naming what does not.
    """
    _log_is_clean(history)
    rounds = await _rounds_end_once(history, store)
    await _honest_are_not_charged(history, store)
    await _weights_are_set_once(history, store, whole=whole)
    if whole:
        await _store_is_whole(history, store)
        await _verifies(history, store)
        if history.universe.seed % _REPLAYED == 0:
            await _replays(store)
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
        records = await tx.rounds.listing(_MOST_ROUNDS)
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


async def _honest_are_not_charged(history: "History", store: Store) -> None:
    """An answer that came in time and is right passes the gates, or its dispatch is void."""
    async with store.read() as tx:
        for one in await tx.rounds.listing(_MOST_ROUNDS):
            if one.state != "settled":
                continue
            nonces = {task.task_id: task.nonce for task in await tx.tasks.of_round(one.round_id)}
            for dispatch in await tx.dispatches.scored(one.round_id):
                key, reason = dispatch.key, dispatch.reason
                honest = (key.hotkey, nonces[key.task_id]) in history.universe.honest
                charged = reason is not None and reason not in (*PASSED, *OURS) and dispatch.score is not None
                require(not (honest and charged), f"round {one.round_id}: {key.hotkey} is charged with {reason}")


async def _weights_are_set_once(history: "History", store: Store, *, whole: bool) -> None:
    """One accepted vector at most for each epoch and mechanism, and the store knows those that the chain has."""
    subnet = history.universe.subnet
    subnet.snapshot()  # the blocks until now take what is due
    landed = Counter[tuple[int, int]]()
    blocks = set[tuple[int, int]]()
    for handed in subnet.handed:
        result = handed.pending.result
        if result is not None and result.accepted and result.block is not None:
            landed[handed.mechid, result.block // EPOCH_BLOCKS] += 1
            blocks.add((handed.mechid, result.block))
    for (mechid, epoch), many in landed.items():
        require(many == 1, f"mechanism {mechid}, epoch {epoch}: the chain took {many} vectors")
    async with store.read() as tx:
        rows = await tx.weights.listing(_MOST_ROUNDS)
    confirmed = {(row.mechid, row.block) for row in rows if row.state == "confirmed"}
    require(confirmed <= blocks, f"confirmed, and not on chain: {sorted(confirmed - blocks)}")
    if not whole:
        return
    require(blocks <= confirmed, f"on chain, and not confirmed: {sorted(blocks - confirmed)}")
    for mechid in {row.mechid for row in rows if any(row.vector.values())}:
        for epoch in history.calm_epochs():
            require(landed[mechid, epoch], f"mechanism {mechid}, epoch {epoch}: no weights, and nothing was in the way")


async def _store_is_whole(history: "History", store: Store) -> None:
    """What `validator db check` looks at, the state against the steps over the log among it."""
    async with store.read() as tx:
        async for one in checks(tx, history.universe.folder / "archive"):
            require(not one.faults, f"{one.name}: {one.faults}")
        calm = [one for one in await tx.rounds.listing(_MOST_ROUNDS) if one.started_at >= history.calm_since]
    require(sum(one.state == "settled" for one in calm) >= 2, "rounds do not go on after the faults")  # noqa: PLR2004


async def _replays(store: Store) -> None:
    async with store.read() as tx:
        for round_id in await tx.rounds.ids():
            replayed = await replay_round(tx, round_id)
            if replayed is not None:
                require(not replayed.differences, f"replay of round {round_id}: {replayed.differences}")


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
