"""Answers that are run again. Old stores have none."""

import sqlalchemy as sa
from alembic import op

revision = "r0011"
down_revision = "r0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Take the step."""
    op.create_table(
        "reruns",
        sa.Column("rerun_id", sa.Text(), nullable=False),
        sa.Column("round_id", sa.BigInteger(), nullable=False),
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("hotkey", sa.Text(), nullable=False),
        sa.Column("skill_type", sa.Text(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("image", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("queued_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("detail", sa.Text(), nullable=True),
        sa.Column("event", sa.Text(), nullable=True),
        sa.Column("report", sa.Text(), nullable=True),
        sa.Column("entered_in", sa.BigInteger(), nullable=True),
        sa.Column("struck", sa.Double(), nullable=True),
        sa.CheckConstraint("state IN ('pending', 'running', 'done', 'inconclusive')", name=op.f("ck_reruns_state")),
        sa.CheckConstraint("event IN ('rerun_pass', 'rerun_fail', 'digest_mismatch')", name=op.f("ck_reruns_event")),
        sa.CheckConstraint("(state = 'done') = (event IS NOT NULL)", name=op.f("ck_reruns_done")),
        sa.CheckConstraint(
            "(state IN ('done', 'inconclusive')) = (ended_at IS NOT NULL)", name=op.f("ck_reruns_ended")
        ),
        sa.ForeignKeyConstraint(["entered_in"], ["rounds.round_id"], name=op.f("fk_reruns_entered_in_rounds")),
        sa.ForeignKeyConstraint(
            ["round_id", "task_id", "hotkey"],
            ["dispatches.round_id", "dispatches.task_id", "dispatches.hotkey"],
            name=op.f("fk_reruns_round_id_task_id_hotkey_dispatches"),
        ),
        sa.PrimaryKeyConstraint("rerun_id", name=op.f("pk_reruns")),
        sa.UniqueConstraint("round_id", "task_id", "hotkey", name=op.f("uq_reruns_round_id_task_id_hotkey")),
    )
    op.create_index(op.f("ix_reruns_state_due_at"), "reruns", ["state", "due_at"])
    op.create_index(op.f("ix_reruns_hotkey_started_at"), "reruns", ["hotkey", "started_at"])
    op.create_index(op.f("ix_reruns_entered_in"), "reruns", ["entered_in"])
