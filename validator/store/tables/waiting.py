"""The table of waiting work: the bundles of tasks (SPEC 15) and the code of plans (SPEC 12), run between the rounds."""

from sqlalchemy import BigInteger, CheckConstraint, Column, ForeignKey, Index, Integer, Table, UniqueConstraint

from validator.protocol.work_states import WORK_STATES
from validator.store.columns import Json, Message, Moment, Name, ReasonCode
from validator.store.tables.base import metadata, of_task, one_of
from validator.store.waiting import CODE, EXECUTIONS, Executed, Judged

waiting_work = Table(
    "waiting_work",
    metadata,
    Column("kind", Name, primary_key=True),
    Column("work_id", Name, primary_key=True),
    Column("round_id", BigInteger, nullable=False),
    Column("task_id", Name, nullable=False),
    Column("skill_type", Name, nullable=False),
    Column("place", Integer, nullable=False),  # of an execution, in the order of the round's draws
    Column("hotkeys", Json(tuple[str, ...]), nullable=False),  # the miners whose answers it concerns
    Column("state", Name, nullable=False),
    Column("attempts", Integer, nullable=False),  # begun, the running one included
    Column("queued_at", Moment, nullable=False),
    Column("due_at", Moment, nullable=False),  # pending: not tried before
    Column("started_at", Moment),  # of the last try
    Column("ended_at", Moment),
    Column("reason", ReasonCode),  # of the end; pending: of the last try
    Column("detail", Message),
    Column("result", Json(Executed | Judged)),
    Column("entered_in", BigInteger, ForeignKey("rounds.round_id")),  # the round whose input has the result
    of_task(),
    one_of("kind", (EXECUTIONS, CODE)),
    one_of("state", WORK_STATES),
    CheckConstraint("(state IN ('done', 'inconclusive')) = (ended_at IS NOT NULL)", name="ended"),
    CheckConstraint("state <> 'done' OR result IS NOT NULL", name="done"),
    CheckConstraint("entered_in IS NULL OR state = 'done'", name="entered"),
    UniqueConstraint("round_id", "task_id", "kind", "hotkeys"),
    Index(None, "kind", "state", "due_at"),
    Index(None, "entered_in"),
    Index(None, "kind", "hotkeys", "started_at"),
)
