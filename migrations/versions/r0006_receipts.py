"""Proofs, receipts, and which receipt made a salt public."""

import sqlalchemy as sa
from alembic import op

revision = "r0006"
down_revision = "r0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Take the step."""
    op.add_column("salts", sa.Column("revealed_in", sa.BigInteger(), nullable=True))
    op.create_table(
        "proofs",
        sa.Column("round_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("checksum", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["round_id", "task_id"], ["tasks.round_id", "tasks.task_id"], name=op.f("fk_proofs_round_id_task_id_tasks")
        ),
        sa.PrimaryKeyConstraint("round_id", "task_id", name=op.f("pk_proofs")),
    )
    op.create_index(op.f("ix_proofs_task_id"), "proofs", ["task_id"], unique=False)
    op.create_table(
        "receipts",
        sa.Column("sequence", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("round_id", sa.BigInteger(), nullable=True),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("line", sa.LargeBinary(), nullable=False),
        sa.CheckConstraint("kind IN ('opening', 'round', 'closing')", name=op.f("ck_receipts_kind")),
        sa.ForeignKeyConstraint(["round_id"], ["rounds.round_id"], name=op.f("fk_receipts_round_id_rounds")),
        sa.PrimaryKeyConstraint("sequence", name=op.f("pk_receipts")),
        sa.UniqueConstraint("round_id", name=op.f("uq_receipts_round_id")),
    )
