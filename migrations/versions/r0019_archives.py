"""Old rounds may lie in archive files; reruns and code checks, which stay, refer to their task instead of its answers.

An attestation goes with the last dispatch that refers to it, which an index finds.
"""

import sqlalchemy as sa
from alembic import op

revision = "r0019"
down_revision = "r0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Take the step."""
    op.create_table(
        "archives",
        sa.Column("first_round", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("last_round", sa.BigInteger(), nullable=False),
        sa.Column("file", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("removed_through", sa.BigInteger(), nullable=False),
        sa.Column("archived_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("removed_through BETWEEN first_round - 1 AND last_round", name=op.f("ck_archives_removed")),
        sa.PrimaryKeyConstraint("first_round", name=op.f("pk_archives")),
    )
    op.create_table(
        "archived_pairs",
        sa.Column("hotkey", sa.Text(), nullable=False),
        sa.Column("skill_type", sa.Text(), nullable=False),
        sa.Column("roles", sa.Text(), nullable=False),
        sa.Column("dispatches", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["hotkey"], ["miners.hotkey"], name=op.f("fk_archived_pairs_hotkey_miners")),
        sa.PrimaryKeyConstraint("hotkey", "skill_type", name=op.f("pk_archived_pairs")),
    )
    op.create_index(op.f("ix_dispatches_sssa_sha256"), "dispatches", ["sssa_sha256"])
    for name in ("reruns", "code_checks"):
        with op.batch_alter_table(name) as table:
            table.drop_constraint(op.f(f"fk_{name}_round_id_task_id_hotkey_dispatches"), type_="foreignkey")
            table.create_foreign_key(
                op.f(f"fk_{name}_round_id_task_id_tasks"), "tasks", ["round_id", "task_id"], ["round_id", "task_id"]
            )
