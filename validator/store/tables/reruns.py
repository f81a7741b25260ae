"""What is run in a sandbox beside the rounds: answers once more (SPEC 15), and the code of plans (SPEC 12)."""

from sqlalchemy import BigInteger, CheckConstraint, Column, ForeignKey, Index, Integer, Table, UniqueConstraint
from sqlalchemy.schema import SchemaItem

from validator.protocol.code_report import CodeReport
from validator.protocol.rerun import RerunReport
from validator.protocol.runtime_image import RuntimeImage
from validator.protocol.work_states import WORK_STATES
from validator.store.columns import Json, Message, Moment, Name, Real, ReasonCode
from validator.store.tables.base import metadata, of_task, one_of


def _of_queue() -> tuple[SchemaItem, ...]:
    """What a table of waiting work has beside its id and its own columns."""
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
        of_task(),  # not to the dispatch, which may be in an archive file
        one_of("state", WORK_STATES),
        CheckConstraint("(state IN ('done', 'inconclusive')) = (ended_at IS NOT NULL)", name="ended"),
        UniqueConstraint("round_id", "task_id", "hotkey"),
        Index(None, "state", "due_at"),
        Index(None, "hotkey", "started_at"),
        Index(None, "entered_in"),
    )


reruns = Table(
    "reruns",
    metadata,
    Column("rerun_id", Name, primary_key=True),
    Column("round_id", BigInteger, nullable=False),
    Column("task_id", Name, nullable=False),
    Column("hotkey", Name, nullable=False),
    Column("skill_type", Name, nullable=False),
    Column("why", ReasonCode, nullable=False),
    Column("image", Json(RuntimeImage), nullable=False),  # as declared in the round's input
    Column("event", Name),  # what it does to the reputation
    Column("report", Json(RerunReport)),  # both runs side by side
    Column("struck", Real),  # what the window entry was worth before the event took it (D-30)
    CheckConstraint("event IN ('rerun_pass', 'rerun_fail', 'digest_mismatch')", name="event"),
    CheckConstraint("(state = 'done') = (event IS NOT NULL)", name="done"),
    *_of_queue(),
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
    *_of_queue(),
)
