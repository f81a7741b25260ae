"""The invariants of a history, checked in its SQLite file after every kill, every stop and at the end."""

import json
import sqlite3
from collections import Counter, defaultdict
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from simulation.loop import SimulationError
from simulation.universe import MECHANISMS, VALIDATOR
from sssa.log.lines import FaultError
from sssa.log.verify import verify_file
from sssa.protocol.reasons import Reason
from sssa.protocol.receipt import anchor_of
from validator.audit.export import audit_lines, first_sequence
from validator.audit.replay import replay_round
from validator.rounds.facts import PASSED
from validator.store import Store
from validator.store.checking import checks
from validator.store.columns import unsealed

if TYPE_CHECKING:
    from simulation.history import History

_REPLAYED: Final = 4  # of so many seeds one: replay judges every answer again, which takes as long as the history
_VERIFIED: Final = 2  # the same
_ENDED: Final = ("settled", "void", "abandoned", "skipped")
_ENTRIES: Final = 100  # of a window (SPEC 11)
_GO_ON: Final = 2  # rounds that begin and settle in the calm time, at least
_LOGGED_LATE: Final = """SELECT l.mechid, l.epoch, l.sequence FROM weight_links l
    JOIN weight_submissions s ON s.mechid = l.mechid AND s.epoch = l.epoch AND s.state = 'confirmed'
    WHERE l.reason IS NULL AND l.sequence > s.link"""


@dataclass(slots=True)
class Past:
    """Findings of an earlier look, which no later look may miss or find changed.

    Attributes:
        receipts: digests of the log, in order.
        rounds: those that ended, with their states and outcomes.
        weights: those that were confirmed, with their blocks.
        entries: of windows, by dispatch.
        running: pieces of work that the last life left as running.
        killed: whether any life was killed, or left work running.
    """

    receipts: list[str] = field(default_factory=list)
    rounds: dict[int, tuple[str, str]] = field(default_factory=dict)
    weights: dict[int, int] = field(default_factory=dict)
    entries: dict[tuple[int, str, str], float] = field(default_factory=dict)
    running: set[str] = field(default_factory=set)
    killed: bool = False


def require(holds: object, text: str) -> None:
    """Raise SimulationError unless it holds."""
    if not holds:
        raise SimulationError(text)


def opened(folder: Path) -> "closing[sqlite3.Connection]":
    """Return the store's file as any program opens it."""
    database = sqlite3.connect(folder / "store.sqlite")
    database.row_factory = sqlite3.Row
    return closing(database)


def check(history: "History", *, whole: bool) -> Counter[str]:
    """Check what must hold now, in the tables; return how many rounds ended, by state.

    Raises:
        SimulationError: naming what does not.
    """
    _log_is_clean(history)
    with opened(history.universe.folder) as database:
        rounds = _rounds_end_once(history, database)
        _nothing_is_lost(history.past, database)
        _miners_get_their_due(history, database, calm=whole)
        _weights_are_set_once(history, database, whole=whole)
    return rounds


async def check_whole(history: "History", store: Store) -> None:
    """Check what must hold at the end, with the program's own means.

    Raises:
        SimulationError: naming what does not.
    """
    await _store_is_whole(history, store)
    await _windows_are_the_entries(history, store)
    await _anchor_is_of_the_log(history, store)
    if history.universe.seed % _VERIFIED == 0:
        await _verifies(history, store)
    if history.universe.seed % _REPLAYED == 0:
        await _replays(store)


def require_no_open_round(folder: Path) -> None:
    """Require that the round in hand was finished."""
    with opened(folder) as database:
        rows = database.execute("SELECT round_id FROM rounds WHERE state = 'open'").fetchall()
    require(not rows, f"a stop with time enough left round {[row[0] for row in rows]} open")


def look_at_running(past: Past, folder: Path, *, allowed: bool) -> None:
    """Require that a life left no piece of work as running that it began, unless that is allowed."""
    with opened(folder) as database:
        running = {row[0] for row in database.execute("SELECT work_id FROM waiting_work WHERE state = 'running'")}
    require(allowed or running <= past.running, f"after a stop work is still running: {sorted(running - past.running)}")
    past.running, past.killed = running, past.killed or bool(running)


def _log_is_clean(history: "History") -> None:
    """No line of the log names a bug, but for what a crash left."""
    for line in history.log:
        reason = str(line.get("reason", ""))
        bug = reason.startswith("bug_") and (reason != Reason.BUG_CRASH or not history.past.killed)
        if bug or line["log_level"] in ("exception", "error", "critical"):
            raise SimulationError(f"the log has {line}")


def _rounds_end_once(history: "History", database: sqlite3.Connection) -> Counter[str]:
    states = Counter[str]()
    receipts = Counter(row[0] for row in database.execute("SELECT round_id FROM receipts WHERE round_id IS NOT NULL"))
    rounds = database.execute("SELECT round_id, state FROM rounds ORDER BY round_id").fetchall()
    for place, (round_id, state) in enumerate(rounds):
        states[state] += 1
        require(round_id == place, f"round {place} is missing")
        require(
            receipts[round_id] == (state in _ENDED), f"round {round_id} is {state} with {receipts[round_id]} receipts"
        )
    require(states["open"] <= 1, f"{states['open']} rounds are open at the same time")
    twice = [name for name, many in Counter(history.universe.listener.ended_rounds).items() if many > 1]
    require(not twice, f"the end of round {twice} was reported twice")
    return states


def _nothing_is_lost(past: Past, database: sqlite3.Connection) -> None:
    """Check that committed data still exists unchanged."""
    receipts = [row[0] for row in database.execute("SELECT sha256 FROM receipts ORDER BY sequence")]
    require(receipts[: len(past.receipts)] == past.receipts, "the log is not what it was")
    rounds = {
        row[0]: (row[1], row[2])
        for row in database.execute("SELECT round_id, state, outcome_sha256 FROM rounds WHERE state != 'open'")
    }
    confirmed = "SELECT id, block FROM weight_submissions WHERE state = 'confirmed'"
    weights = {row[0]: row[1] for row in database.execute(confirmed)}
    entered = "SELECT round_id, task_id, hotkey, entry FROM dispatches WHERE entry IS NOT NULL"
    entries = {tuple(row)[:3]: row[3] for row in database.execute(entered)}
    for name, now, before in (("round", rounds, past.rounds), ("submission", weights, past.weights)):
        changed = [key for key, value in before.items() if now.get(key) != value]
        require(not changed, f"{name} {changed} is not what it was")
    lost = [key for key, value in past.entries.items() if entries.get(key) not in {value, 0.0}]  # 0: struck
    require(not lost, f"the entries of {lost} are not what they were")
    past.receipts, past.rounds, past.weights, past.entries = receipts, rounds, weights, entries


def _miners_get_their_due(history: "History", database: sqlite3.Connection, *, calm: bool) -> None:
    """Compare each dispatch of a settled task with what its miner did.

    A right answer in time passes, or its dispatch is void; in the calm time it passes. What is not right does not
    pass. Nothing of a fault of ours enters a window.
    """
    universe, rounds = history.universe, history.calm_rounds if calm else set[int]()
    statement = (
        "SELECT d.round_id, d.hotkey, d.state, d.reason, d.entry, t.nonce FROM dispatches d"
        " JOIN tasks t USING (round_id, task_id) JOIN rounds r USING (round_id)"
        " WHERE r.state = 'settled' AND t.state = 'settled'"
    )
    for row in database.execute(statement):
        key, what = (row["hotkey"], row["nonce"]), f"round {row['round_id']}: {row['hotkey']}"
        reason, passed = row["reason"] or "", row["reason"] in PASSED
        charged = row["state"] == "failed"
        require(not (charged and key in universe.honest), f"{what} answered and is charged with {reason}")
        require(not (charged and key in universe.ours), f"{what} is charged with {reason}: a fault of ours")
        wrong = universe.wrong.get(key)
        if wrong != "late" or not history.faults.counts["stall"]:  # what stood still was not the miner
            require(not (passed and wrong), f"{what} passes with an answer that is {wrong}")
        ours = reason.startswith(("bug_", "local_"))
        require(reason != Reason.BUG_INTERNAL, f"{what}: {reason}")
        require(not (ours and row["entry"] is not None), f"{what} has an entry for {reason}")
        require(not (charged and row["entry"] != 0.0), f"{what} failed with {reason} and its entry is {row['entry']}")
        if row["round_id"] in rounds:
            require(key not in universe.honest or passed, f"{what} answered in the calm time and is {row['state']}")
    running = "SELECT count(*) FROM weight_locks"
    require(not database.execute(running).fetchone()[0], "weights are locked, and nobody else writes with this hotkey")


def _weights_are_set_once(history: "History", database: sqlite3.Connection, *, whole: bool) -> None:
    """One accepted vector at most for each epoch and mechanism, and the store knows those that the chain has."""
    universe = history.universe
    subnet = universe.subnet
    subnet.snapshot()  # the blocks until now take what is due
    landed = Counter[tuple[int, int]]()
    arrived: list[tuple[int, int, int]] = []
    blocks: dict[tuple[int, int], Any] = {}
    for handed in subnet.handed:
        result = handed.pending.result
        if result is not None and result.accepted and result.block is not None:
            landed[handed.mechid, handed.epoch] += 1
            arrived.append((result.block, handed.mechid, handed.epoch))
            blocks[handed.mechid, result.block] = {str(uid): value for uid, value in handed.pending.values.items()}
    for (mechid, epoch), many in landed.items():
        require(many == 1, f"mechanism {mechid}, epoch {epoch}: the chain took {many} vectors")
    for mechid in MECHANISMS:
        epochs = [epoch for _, one, epoch in sorted(arrived) if one == mechid]
        require(epochs == sorted(epochs), f"mechanism {mechid}: the chain took vectors out of order: {epochs}")
    late = database.execute(_LOGGED_LATE).fetchall()
    require(not late, f"in the log only after the epoch's weights were confirmed: {[tuple(row) for row in late]}")
    rows = database.execute("SELECT mechid, block, state, sent, vector FROM weight_submissions").fetchall()
    confirmed = {
        (row["mechid"], row["block"]): json.loads(unsealed(row["sent"].encode()))
        for row in rows
        if row["state"] == "confirmed"
    }
    require(confirmed.keys() <= blocks.keys(), f"confirmed, not on chain: {sorted(confirmed.keys() - blocks.keys())}")
    for key, sent in confirmed.items():
        require(sent == blocks[key], f"mechanism and block {key}: the chain has {blocks[key]}, the store {sent}")
    _rows_are_compared(history, database)
    if not whole:
        return
    unseen = sorted(blocks.keys() - confirmed.keys())  # while the clock is behind the store nothing is looked at
    require(not unseen or not history.calm_epochs(), f"on chain, not confirmed: {unseen}")
    vectors = {tuple(row)[:2]: row[2] for row in database.execute("SELECT mechid, epoch, positive FROM weight_vectors")}
    for mechid in {mechid for mechid, _ in vectors}:
        for epoch in history.calm_epochs():
            served = landed[mechid, epoch] or vectors.get((mechid, epoch)) == 0  # nobody has a score
            require(served, f"mechanism {mechid}, epoch {epoch}: no weights, and nothing was in the way")


def _rows_are_compared(history: "History", database: sqlite3.Connection) -> None:
    """Check that a row that came into force as sent counts as such, and an altered one does not."""
    unlike = history.universe.subnet.unlike
    rows = database.execute("SELECT mechid, block, row_state FROM weight_submissions WHERE state = 'confirmed'")
    for mechid, block, state in rows.fetchall():
        fault, where = unlike.get((mechid, block)), f"mechanism {mechid}, block {block}"
        require(state != "altered" or fault == "row_altered", f"{where}: its row was not altered")
        good = state in {"as_sent", "revealed"}
        require(not (good and fault == "row_altered"), f"{where}: its row was altered, and it is {state}")
        history.faults.counts["rows_compared"] += state not in {None, "committed"}


async def _store_is_whole(history: "History", store: Store) -> None:
    """Run the checks of `validator db check`, state against steps over the log included; rounds continue."""
    async with store.read() as tx:
        async for one in checks(tx):
            require(not one.faults, f"{one.name}: {one.faults}")
        calm = [one for one in await tx.rounds.listing(_GO_ON * 20) if one.round_id in history.calm_rounds]
    require(sum(one.state == "settled" for one in calm) >= _GO_ON, "rounds do not continue after the faults")
    reported = set(history.universe.listener.ended_rounds)
    silent = [one.round_id for one in calm if one.state != "open" and str(one.round_id) not in reported]
    require(not silent, f"the end of rounds {silent} was not reported")


async def _windows_are_the_entries(history: "History", store: Store) -> None:
    """Each window holds the newest 100 entries of its miner and type, in the order in which they came."""
    statement = (
        "SELECT d.hotkey, d.skill_type, d.entry FROM dispatches d JOIN tasks t USING (round_id, task_id)"
        " WHERE d.entry IS NOT NULL ORDER BY coalesce(d.entered_in, d.round_id), d.round_id, t.position, d.rank"
    )
    entries: dict[tuple[str, str], list[float]] = defaultdict(list)
    with opened(history.universe.folder) as database:
        for hotkey, skill_type, entry in database.execute(statement):
            entries[hotkey, skill_type].append(entry)
    async with store.read() as tx:
        state = await tx.state.whole()
    for hotkey, miner in state.miners.items():
        for name, pair in miner.pairs.items():
            due, window = entries.pop((hotkey, str(name)), []), pair.window
            require(window.added == len(due), f"{hotkey}, {name}: {window.added} entries in its window, {len(due)} due")
            require(
                list(window.newest(2 * _ENTRIES)) == due[-_ENTRIES:], f"{hotkey}, {name}: its window is not its entries"
            )
            history.faults.counts["long_windows"] += window.added > _ENTRIES
    require(not any(entries.values()), f"entries without a window: {sorted(entries)}")


async def _anchor_is_of_the_log(history: "History", store: Store) -> None:
    commitment = history.universe.subnet.commitment(VALIDATOR.hotkey)
    if commitment is None:
        return
    anchor = anchor_of(commitment.content)
    require(anchor is not None, f"the commitment on chain is no anchor: {commitment.content!r}")
    assert anchor is not None
    async with store.read() as tx:
        record = await tx.receipts.get(anchor.sequence)
    require(record is not None and record.sha256 == anchor.digest, f"the anchor names another receipt: {anchor}")


async def _replays(store: Store) -> None:
    async with store.read() as tx:
        for round_id in await tx.rounds.ids():
            replayed = await replay_round(tx, round_id)
            if replayed is not None:
                require(replayed.difference is None, f"replay of round {round_id}: {replayed.difference}")


async def _verifies(history: "History", store: Store) -> None:
    path = history.universe.folder / "log.jsonl"
    async with store.read() as tx:
        first = await first_sequence(tx, None)
        if first is None:
            return
        count = await tx.receipts.count()
        path.write_bytes(
            b"".join([data + b"\n" for number in range(first, count) async for data in audit_lines(tx, number)])
        )
    try:
        verify_file(path)
    except FaultError as error:
        raise SimulationError(f"audit verify: {error}") from error
