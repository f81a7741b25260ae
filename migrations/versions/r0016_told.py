"""What the log tells of rounds from here on: digests of raw answers, and which round tells of a cleared flag.

A flag that was cleared before the newest round was frozen stands in no input any more, and nobody told why.
"""

import sqlalchemy as sa
from alembic import op

revision = "r0016"
down_revision = "r0015"
branch_labels = None
depends_on = None

_UNTOLD = -1


def upgrade() -> None:
    """Take the step."""
    op.add_column("dispatches", sa.Column("raw", sa.Text(), nullable=True))
    op.add_column("rounds", sa.Column("record_form", sa.Integer(), nullable=True))
    op.add_column("flags", sa.Column("told_in", sa.BigInteger(), nullable=True))
    flags, rounds = (
        sa.table("flags", sa.column("cleared_at"), sa.column("told_in")),
        sa.table("rounds", sa.column("started_at"), sa.column("input_sha256")),
    )
    frozen = sa.select(sa.func.max(rounds.c.started_at)).where(rounds.c.input_sha256.is_not(None)).scalar_subquery()
    op.execute(sa.update(flags).where(flags.c.cleared_at <= frozen).values(told_in=_UNTOLD))
