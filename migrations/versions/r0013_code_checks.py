"""Code of plans that is judged after its round. What an old store's rounds left deferred waits from now on."""

import sqlalchemy as sa
from alembic import op

revision = "r0013"
down_revision = "r0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Take the step."""
    op.create_table(
        "code_checks",
        sa.Column("check_id", sa.Text(), nullable=False),
        sa.Column("round_id", sa.BigInteger(), nullable=False),
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("hotkey", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("queued_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("detail", sa.Text(), nullable=True),
        sa.Column("report", sa.Text(), nullable=True),
        sa.Column("score", sa.Double(), nullable=True),
        sa.Column("entered_in", sa.BigInteger(), nullable=True),
        sa.CheckConstraint(
            "state IN ('pending', 'running', 'done', 'inconclusive')", name=op.f("ck_code_checks_state")
        ),
        sa.CheckConstraint("(state = 'done') = (report IS NOT NULL)", name=op.f("ck_code_checks_done")),
        sa.CheckConstraint("(report IS NULL) = (score IS NULL)", name=op.f("ck_code_checks_scored")),
        sa.CheckConstraint(
            "(state IN ('done', 'inconclusive')) = (ended_at IS NOT NULL)", name=op.f("ck_code_checks_ended")
        ),
        sa.ForeignKeyConstraint(["entered_in"], ["rounds.round_id"], name=op.f("fk_code_checks_entered_in_rounds")),
        sa.ForeignKeyConstraint(
            ["round_id", "task_id", "hotkey"],
            ["dispatches.round_id", "dispatches.task_id", "dispatches.hotkey"],
            name=op.f("fk_code_checks_round_id_task_id_hotkey_dispatches"),
        ),
        sa.PrimaryKeyConstraint("check_id", name=op.f("pk_code_checks")),
        sa.UniqueConstraint("round_id", "task_id", "hotkey", name=op.f("uq_code_checks_round_id_task_id_hotkey")),
    )
    op.create_index(op.f("ix_code_checks_state_due_at"), "code_checks", ["state", "due_at"])
    op.create_index(op.f("ix_code_checks_hotkey_started_at"), "code_checks", ["hotkey", "started_at"])
    op.create_index(op.f("ix_code_checks_entered_in"), "code_checks", ["entered_in"])
    _queue()


def _queue() -> None:
    check_id = " || '-' || ".join((_padded("s.round_id", 16), _padded("t.position", 3), _padded("d.rank", 2)))
    columns = "check_id, round_id, task_id, hotkey, state, attempts, queued_at, due_at"
    found = f"{check_id}, s.round_id, s.task_id, s.hotkey, 'pending', 0, r.settled_at, r.settled_at"
    tables = (
        "scores s JOIN rounds r ON r.round_id = s.round_id "
        "JOIN tasks t ON t.round_id = s.round_id AND t.task_id = s.task_id "
        "JOIN dispatches d ON d.round_id = s.round_id AND d.task_id = s.task_id AND d.hotkey = s.hotkey"
    )
    statement = f"INSERT INTO code_checks ({columns}) SELECT {found} FROM {tables} "  # noqa: S608 - words of this file
    op.execute(sa.text(f"{statement} WHERE s.reason = 'workflow_deferred'"))


def _padded(column: str, digits: int) -> str:
    # Both databases know `substr` and `length`; neither pads numbers as the other does.
    text = f"CAST({column} AS TEXT)"
    return f"substr('{'0' * digits}' || {text}, length({text}) + 1, {digits})"
