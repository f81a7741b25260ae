"""Rows of late qualities that were changed: `db check` names them (SPEC 12)."""

from typing import Any

from replays import executed, faults_after
from sqlalchemy import delete, update
from waiting_world import WHOLE, checks_of, three_rounds

from sssa.protocol.waiting_work import Judged
from sssa.protocol.workflow_run import CodeReport
from validator.store import Store
from validator.store.tables import dispatches, waiting_work

C = waiting_work.c
OF_0 = C.round_id == 0


async def test_rows_that_were_changed_are_named(store: Store) -> None:
    await three_rounds(store)
    mine = (await checks_of(store))[0]
    other = Judged(CodeReport(2, 4, 3), mine.score or 0.0)
    tamperings: dict[str, tuple[Any, int, str]] = {
        "score": (update(waiting_work).where(OF_0).values(result=Judged(WHOLE, 0.125)), 1, "input.filled"),
        "report": (update(waiting_work).where(OF_0).values(result=other), 1, "input.filled"),
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
