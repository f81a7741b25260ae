"""The chain and the subnet that a store belongs to. Old stores adopt those that they are next opened with."""

import sqlalchemy as sa
from alembic import op

revision = "r0012"
down_revision = "r0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Take the step."""
    op.create_table(
        "store_chain",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("genesis", sa.Text(), nullable=False),
        sa.Column("netuid", sa.Integer(), nullable=False),
        sa.Column("adopted_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_store_chain_one")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_store_chain")),
    )
