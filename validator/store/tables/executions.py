"""What is run in a sandbox between the rounds: the bundles of tasks (SPEC 15), and the code of plans (SPEC 12)."""

from sqlalchemy import BigInteger, CheckConstraint, Column, ForeignKey, Index, Integer, Table, UniqueConstraint
from sqlalchemy.schema import SchemaItem

from validator.protocol.code_report import CodeReport
from validator.protocol.execution import AnswerReport, RunReport
from validator.protocol.work_states import WORK_STATES
from validator.store.columns import Json, Message, Moment, Name, Real, ReasonCode
from validator.store.tables.base import metadata, of_task, one_of


def _of_queue(*unique: str) -> tuple[SchemaItem, ...]:
    """Return what a table of waiting work has besides its id and its own columns; these name one piece."""
    return (
        Column("state", Name, nullable=False),
        Column("attempts", Integer, nullable=False),  # begun, the running one included
        Column("queued_at", Moment, nullable=False),
        Column("due_at", Moment, nullable=False),  # pending: not tried before
        Column("started_at", Moment),  # of the last try
        Column("ended_at", Moment),
        Column("reason", ReasonCode),  # of the end; pending: of the last try
        Column("detail", Message),
        Column("entered_in", BigInteger, ForeignKey("rounds.round_id")),  # the round that counted the result
        of_task(),
        one_of("state", WORK_STATES),
        CheckConstraint("(state IN ('done', 'inconclusive')) = (ended_at IS NOT NULL)", name="ended"),
        UniqueConstraint(*unique),
        Index(None, "state", "due_at"),
        Index(None, "entered_in"),
    )


executions = Table(
    "executions",
    metadata,
    Column("execution_id", Name, primary_key=True),
    Column("round_id", BigInteger, nullable=False),
    Column("task_id", Name, nullable=False),
    Column("skill_type", Name, nullable=False),
    Column("place", Integer, nullable=False),  # in the order of the round's draws
    Column("hotkeys", Json(tuple[str, ...]), nullable=False),  # the valid primaries, in group order
    Column("report", Json(RunReport)),  # what the runs showed
    *_of_queue("round_id", "task_id"),
)

execution_results = Table(
    "execution_results",
    metadata,
    Column("execution_id", Name, ForeignKey("executions.execution_id"), primary_key=True),
    Column("rank", Integer, primary_key=True),  # in group order
    Column("round_id", BigInteger, nullable=False),
    Column("task_id", Name, nullable=False),
    Column("hotkey", Name, nullable=False),
    Column("skill_type", Name, nullable=False),
    Column("event", Name, nullable=False),  # what it does to the reputation
    Column("report", Json(AnswerReport), nullable=False),  # the miner's traces next to the runs
    Column("struck", Real),  # what the window entry was worth before the event took it (D-30)
    CheckConstraint("event IN ('rerun_pass', 'rerun_fail')", name="event"),
    UniqueConstraint("round_id", "task_id", "hotkey"),
)

code_checks = Table(
    "code_checks",
    metadata,
    Column("check_id", Name, primary_key=True),
    Column("round_id", BigInteger, nullable=False),
    Column("task_id", Name, nullable=False),
    Column("hotkey", Name, nullable=False),
    Column("report", Json(CodeReport)),
    Column("score", Real),  # S with the report's quality, by the scoring version of the answer's round
    CheckConstraint("(state = 'done') = (report IS NOT NULL)", name="done"),
    CheckConstraint("(report IS NULL) = (score IS NULL)", name="scored"),
    *_of_queue("round_id", "task_id", "hotkey"),
    Index(None, "hotkey", "started_at"),
)
