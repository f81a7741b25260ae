"""Score windows and weight submissions."""

import sqlalchemy as sa
from alembic import op

revision = "r0004"
down_revision = "r0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Take the step."""
    _window_entries()
    _weight_submissions()


def _window_entries() -> None:
    op.create_table(
        "window_entries",
        sa.Column("hotkey", sa.Text(), nullable=False),
        sa.Column("skill_type", sa.Text(), nullable=False),
        sa.Column("round_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("value", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["hotkey"], ["miners.hotkey"], name=op.f("fk_window_entries_hotkey_miners")),
        sa.ForeignKeyConstraint(["round_id"], ["rounds.round_id"], name=op.f("fk_window_entries_round_id_rounds")),
        sa.PrimaryKeyConstraint("hotkey", "skill_type", "round_id", "task_id", name=op.f("pk_window_entries")),
        sa.UniqueConstraint("sequence", name=op.f("uq_window_entries_sequence")),
    )
    op.create_index(
        op.f("ix_window_entries_hotkey_skill_type_sequence_value"),
        "window_entries",
        ["hotkey", "skill_type", "sequence", "value"],
        unique=False,
    )


def _weight_submissions() -> None:
    op.create_table(
        "weight_submissions",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("netuid", sa.Integer(), nullable=False),
        sa.Column("mechid", sa.Integer(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("block", sa.BigInteger(), nullable=True),
        sa.Column("vector", sa.Text(), nullable=False),
        sa.Column("scores", sa.Text(), nullable=False),
        sa.Column("unallocated", sa.Double(), nullable=False),
        sa.Column("message", sa.Text(), nullable=True),
        sa.Column("extrinsic", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "state IN ('prepared', 'submitted', 'confirmed', 'rejected', 'unknown')",
            name=op.f("ck_weight_submissions_state"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_weight_submissions")),
        sa.UniqueConstraint("netuid", "mechid", "epoch", name=op.f("uq_weight_submissions_netuid_mechid_epoch")),
    )
