"""Indices without what no query needs."""

import sqlalchemy as sa
from alembic import op

revision = "r0023"
down_revision = "r0022"
branch_labels = None
depends_on = None

_HISTORY = ["hotkey", "skill_type", "round_id"]
_SPARSE = {"dispatches": "sssa_sha256", "agreements": "consumed_by"}


def upgrade() -> None:
    """Take the step: reads dispatches and agreements once."""
    op.drop_index(op.f("ix_dispatches_hotkey_skill_type_round_id_role_state_reason"), "dispatches")
    op.create_index(op.f("ix_dispatches_hotkey_skill_type_round_id"), "dispatches", _HISTORY)
    for table, column in _SPARSE.items():
        there = sa.text(f"{column} IS NOT NULL")
        op.drop_index(op.f(f"ix_{table}_{column}"), table)
        op.create_index(op.f(f"ix_{table}_{column}"), table, [column], sqlite_where=there, postgresql_where=there)
    op.drop_index(op.f("ix_proofs_task_id"), "proofs")
