"""A store that has seen many rounds: twelve tasks for five of its miners each, in the tables that a new round reads."""

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from sssa.protocol.answer import Role
from sssa.protocol.canonical import canonical_bytes
from sssa.protocol.reasons import Reason
from sssa.protocol.round import AgreementPair, AssessedMember, RoundOutcome
from sssa.protocol.skill_types import SkillType
from sssa.scoring import CURRENT, version
from sssa.state.mechanism_state import ENTRIES, ROLES, ROUNDS, SAMPLES, Delta, Miner, Pair, Window
from validator.store import open_store, upgrade
from validator.store.record import Head, frames
from validator.store.repositories.state import NOTHING

TYPES: Final = tuple(version(CURRENT).rules.types)
_MEMBERS: Final = 5
_RECORDED: Final = 200  # of the newest rounds: what explaining a miner reads
_DISPATCHES: Final = 2 * len(TYPES) * _MEMBERS


def hotkey(number: int) -> str:
    """Return a miner's name, as long as an address."""
    return f"5{number:047d}"


def age(path: Path, rounds: int, miners: Sequence[str]) -> str:
    """Make such a store of these miners where there is none; return its url."""
    url = f"sqlite:///{path}"
    asyncio.run(upgrade(url))
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF;")
        _fill(connection, rounds, miners)
        connection.commit()
    asyncio.run(_keep(url, rounds, miners))
    return url


def _fill(connection: sqlite3.Connection, rounds: int, miners: Sequence[str]) -> None:
    connection.execute("CREATE TEMP TABLE names (n INTEGER PRIMARY KEY, name TEXT)")
    connection.executemany("INSERT INTO names VALUES (?, ?)", enumerate(miners))
    numbers = "WITH RECURSIVE r(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM r WHERE n + 1 < :many)"
    of_round = f"{numbers}, j(j) AS (SELECT 0 UNION ALL SELECT j + 1 FROM j WHERE j + 1 < :dispatches)"
    task = f"printf('%026d%06d', r.n, j / {_MEMBERS})"
    who = "(SELECT name FROM names WHERE names.n = (r.n * 37 + j * (1 + r.n % 5 * 2)) % :miners)"
    kind = " ".join(f"WHEN {i} THEN '{kind}'" for i, kind in enumerate(TYPES))
    kind = f"CASE j / {2 * _MEMBERS} {kind} END"
    failed = "(n + j) % 23 = 0"
    role = f"CASE WHEN j % {_MEMBERS} < 3 THEN 'primary' ELSE 'auditor' END"
    for statement in (
        "INSERT INTO miners SELECT name, n, 0, 100 FROM names",
        (
            "INSERT INTO rounds (round_id, epoch, block, block_hash, state, started_at, task_count, dispatch_count)"
            f" {numbers} SELECT n, n / 7, n * 50, 'aa', 'settled', '2026-01-01 00:00:00', 12, :dispatches FROM r"
        ),
        (
            "INSERT INTO tasks (round_id, task_id, position, skill_type, slot, source_sha256, bundle_sha256, nonce,"
            f" provenance, mode, state) {of_round} SELECT n, {task}, j / {_MEMBERS}, {kind}, 0, 's', 'b', 'n',"
            f" 'canary', 'full', 'settled' FROM r, j WHERE j % {_MEMBERS} = 0"
        ),
        (
            "INSERT OR IGNORE INTO dispatches (round_id, task_id, hotkey, skill_type, role, rank, state, reason, entry)"
            f" {of_round} SELECT n, {task}, {who}, {kind}, {role}, j % {_MEMBERS},"
            f" iif({failed}, 'failed', 'answered'), iif({failed}, 'deadline_late', 'accepted'),"
            f" iif({failed}, NULL, 0.4) FROM r, j"
        ),
    ):
        connection.execute(statement, {"many": rounds, "miners": len(miners), "dispatches": _DISPATCHES})
    for round_id in range(max(0, rounds - _RECORDED), rounds):
        answered = connection.execute(
            "SELECT task_id, hotkey, role, reason FROM dispatches WHERE round_id = ? AND state = 'answered'",
            (round_id,),
        )
        frame = b"".join(frames(Head(1, None, None, _outcome(round_id, answered.fetchall()), ())))
        connection.execute("INSERT INTO records (round_id, part, frame) VALUES (?, 0, ?)", (round_id, frame))


def _outcome(round_id: int, answered: Sequence[tuple[str, str, Role, str]]) -> bytes:
    members = tuple(
        AssessedMember(
            task_id=task_id,
            hotkey=hotkey,
            role=role,
            reason=Reason(reason),
            components=None,
            consensus=0.7,
            agreement_with_primaries=None,
            agreement_with_auditors=None,
            emission=None,
            window_entry=0.4,
        )
        for task_id, hotkey, role, reason in answered
    )
    outcome = RoundOutcome(str(round_id), CURRENT, (), members, (), (), ())
    return canonical_bytes(outcome)


async def _keep(url: str, rounds: int, miners: Sequence[str]) -> None:
    async with open_store(url) as store, store.begin() as tx:
        state = {hotkey: Miner({SkillType(kind): _pair(rounds) for kind in TYPES}) for hotkey in miners}
        await tx.state.write(NOTHING.shared, Delta(state, NOTHING.shared))


def _pair(rounds: int) -> Pair:
    """Return a pair of which nothing more is kept."""
    window = Window()
    for number in range(ENTRIES):
        window = window.entered(rounds + number, "0" * 32, 0.4)
    return Pair(
        reputation=0.61,
        agreements=(AgreementPair(0.6251, 0.5313, 0.4437, 0.5011),) * SAMPLES,
        roles="pa" * (ROLES // 2),
        counts=tuple((rounds - number, 2, int(number % 23 == 0)) for number in range(ROUNDS)),
        window=window,
    )
