"""Requests to let the running validator finish its round and end."""

import sqlalchemy as sa
from alembic import op

revision = "r0014"
down_revision = "r0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Take the step."""
    op.create_table(
        "drains",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("asked_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("taken_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("ended_at IS NULL OR taken_at IS NOT NULL", name=op.f("ck_drains_ended")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_drains")),
    )
