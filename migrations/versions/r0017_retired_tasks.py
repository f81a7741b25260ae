"""Retired tasks: whose truth may be shown, and which are not given again."""

import sqlalchemy as sa
from alembic import op

revision = "r0017"
down_revision = "r0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Take the step."""
    op.create_table(
        "retired_tasks",
        sa.Column("source_sha256", sa.Text(), nullable=False),
        sa.Column("retired_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("source_sha256", name=op.f("pk_retired_tasks")),
    )
