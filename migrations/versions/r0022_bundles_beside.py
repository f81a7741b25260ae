"""Bundles that differ in their marker alone, each as what it has of its own."""

import sqlalchemy as sa
from alembic import op

revision = "r0022"
down_revision = "r0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Take the step. Bundles that are there stay whole, and are no base of others."""
    op.add_column("bundles", sa.Column("source_sha256", sa.Text(), nullable=True))
    op.add_column("bundles", sa.Column("base_sha256", sa.Text(), nullable=True))
    op.create_index(op.f("ix_bundles_source_sha256"), "bundles", ["source_sha256"])
