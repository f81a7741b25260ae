"""Dispatches that are void alone, and when the validator stood still (SPEC 16, D-26).

Histories tell void dispatches by their reason, so the index that they are read from holds it.
"""

import sqlalchemy as sa
from alembic import op

revision = "r0010"
down_revision = "r0009"
branch_labels = None
depends_on = None

_COLUMNS = ["hotkey", "skill_type", "round_id", "role", "state"]


def upgrade() -> None:
    """Take the step."""
    op.create_table(
        "stalls",
        sa.Column("round_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["round_id"], ["rounds.round_id"], name=op.f("fk_stalls_round_id_rounds")),
        sa.PrimaryKeyConstraint("round_id", "number", name=op.f("pk_stalls")),
    )
    op.add_column("dispatches", sa.Column("stalled", sa.Double(), nullable=True))
    op.drop_index(op.f("ix_dispatches_hotkey_skill_type_round_id_role_state"), "dispatches")
    op.create_index(
        op.f("ix_dispatches_hotkey_skill_type_round_id_role_state_reason"), "dispatches", [*_COLUMNS, "reason"]
    )
