"""The weights guard: attempts, when they were signed and expire; known updates; locks."""

import sqlalchemy as sa
from alembic import op

revision = "r0005"
down_revision = "r0004"
branch_labels = None
depends_on = None

_STATES = "state IN ('prepared', 'submitted', 'confirmed', 'rejected', 'unknown', 'expired')"
_LONGEST_ERA = 128  # of what older versions sent


def upgrade() -> None:
    """Take the step."""
    _weight_submissions()
    _weight_marks()
    _weight_locks()


def _weight_submissions() -> None:
    with op.batch_alter_table("weight_submissions") as table:
        table.add_column(sa.Column("attempts", sa.Integer(), nullable=False, server_default="1"))
        table.add_column(sa.Column("signed_block", sa.BigInteger(), nullable=True))
        table.add_column(sa.Column("lifetime", sa.Integer(), nullable=True))
        table.add_column(sa.Column("expiry_block", sa.BigInteger(), nullable=True))
        table.add_column(sa.Column("sent", sa.Text(), nullable=True))
        table.drop_constraint(op.f("ck_weight_submissions_state"), type_="check")
        table.create_check_constraint(op.f("ck_weight_submissions_state"), _STATES)
    with op.batch_alter_table("weight_submissions") as table:
        table.alter_column("attempts", server_default=None)
    # Until now `prepared` was written right before sending, and `block` was that of the plan until there was another.
    rows = sa.table("weight_submissions", *(sa.column(name) for name in ("state", "block", "signed_block", "lifetime")))
    open_ones = sa.update(rows).where(rows.c.state.in_(("prepared", "submitted", "unknown")))
    op.execute(open_ones.values(state="unknown", signed_block=rows.c.block, block=None, lifetime=_LONGEST_ERA))


def _weight_marks() -> None:
    op.create_table(
        "weight_marks",
        sa.Column("netuid", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("mechid", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("hotkey", sa.Text(), nullable=False),
        sa.Column("uid", sa.Integer(), nullable=False),
        sa.Column("last_update", sa.BigInteger(), nullable=False),
        sa.Column("block", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("netuid", "mechid", "hotkey", name=op.f("pk_weight_marks")),
    )


def _weight_locks() -> None:
    op.create_table(
        "weight_locks",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("locked_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seen", sa.Text(), nullable=False),
        sa.Column("cleared_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("cleared_reason", sa.Text(), nullable=True),
        sa.CheckConstraint("(cleared_at IS NULL) = (cleared_reason IS NULL)", name=op.f("ck_weight_locks_cleared")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_weight_locks")),
    )
