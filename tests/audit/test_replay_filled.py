"""Replay of rounds that enter late qualities: whatever is filled wrongly is named (SPEC 12)."""

from typing import Any

from code_world import WHOLE, checks_of, three_rounds, wrong_inputs
from recorded import headed
from replays import Tamper, executed, faults_after, replayed
from sqlalchemy import delete, update

from validator.protocol.canonical import canonical_bytes, sha256_hex
from validator.protocol.strict_json import decode_plain
from validator.protocol.waiting_work import Judged
from validator.protocol.workflow_run import CodeReport
from validator.store import Store, Transaction
from validator.store.tables import dispatches, rounds, waiting_work

C = waiting_work.c
OF_0 = C.round_id == 0


def with_input(number: int, change: Any) -> Tamper:
    """A round's stored input with something changed and its own right hash."""

    async def tamper(tx: Transaction) -> None:
        def changed(data: bytes) -> bytes:
            document = decode_plain(data, limit=len(data), depth=64)
            change(document)
            return canonical_bytes(document)

        await headed(number, input=changed)(tx)
        digest = sha256_hex(await tx.rounds.document_bytes(number, "input") or b"")
        await tx.connection.execute(update(rounds).where(rounds.c.round_id == number).values(input_sha256=digest))

    return tamper


async def test_every_wrong_filling_is_named(store: Store) -> None:
    await three_rounds(store)
    for name, wrong in (await wrong_inputs(store)).items():
        replay, check = await faults_after(store, with_input(wrong.round_id, wrong.change), wrong.round_id)
        assert replay == f"round {wrong.round_id}: the stored input is not what its receipt was written for", name
        assert f"round {wrong.round_id}: input.filled[" in check, name
    for number in range(3):
        assert (await replayed(store, number)).verdict == "equal"


async def test_rows_that_were_changed_are_named(store: Store) -> None:
    await three_rounds(store)
    mine = (await checks_of(store))[0]
    other = Judged(CodeReport(2, 4, 3), mine.score or 0.0)
    tamperings: dict[str, tuple[Any, int, str]] = {
        "score": (update(waiting_work).where(OF_0).values(result=Judged(WHOLE, 0.125)), 1, "input.filled"),
        "report": (
            update(waiting_work).where(OF_0).values(result=other),
            1,
            "input.filled",
        ),
        "entered elsewhere": (update(waiting_work).where(OF_0).values(entered_in=2), 2, "input.filled"),
        "not entered": (update(waiting_work).where(OF_0).values(entered_in=None), 1, "input.filled"),
        "no entry": (update(dispatches).where(dispatches.c.entered_in == 1).values(entry=None), 1, "window_entries"),
        "entry": (update(dispatches).where(dispatches.c.entered_in == 1).values(entry=0.5), 1, "window_entries"),
        "another id": (update(waiting_work).where(OF_0).values(work_id=C.work_id + "x"), 0, "code_checks"),
        "one less": (delete(waiting_work).where(C.work_id == mine.work_id), 0, "code_checks"),
    }
    for name, (statement, number, expected) in tamperings.items():
        _, check = await faults_after(store, executed(statement), number)
        assert f"round {number}: {expected}" in check, (name, check)
