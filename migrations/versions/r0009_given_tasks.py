"""How often each task was given, counted from the latest rounds of an old store."""

import sqlalchemy as sa
from alembic import op

revision = "r0009"
down_revision = "r0008"
branch_labels = None
depends_on = None

_ROUNDS_COUNTED = 10_000  # of an old store, the latest: an order of asking needs no more


def upgrade() -> None:
    """Take the step."""
    op.create_table(
        "given_tasks",
        sa.Column("skill_type", sa.Text(), nullable=False),
        sa.Column("source_sha256", sa.Text(), nullable=False),
        sa.Column("given", sa.BigInteger(), nullable=False),
        sa.Column("last_round", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("skill_type", "source_sha256", name=op.f("pk_given_tasks")),
    )
    op.create_index(op.f("ix_given_tasks_skill_type_given"), "given_tasks", ["skill_type", "given"])
    op.create_index(op.f("ix_given_tasks_skill_type_last_round"), "given_tasks", ["skill_type", "last_round"])
    _count()


def _count() -> None:
    # Canaries are made anew for every round; one of a folder begins as a new task does.
    op.execute(
        sa.text(
            "INSERT INTO given_tasks (skill_type, source_sha256, given, last_round) "
            "SELECT skill_type, source_sha256, COUNT(*), MAX(round_id) FROM tasks "
            "WHERE provenance <> 'canary' AND round_id > (SELECT MAX(round_id) FROM rounds) - :counted "
            "GROUP BY skill_type, source_sha256"
        ).bindparams(counted=_ROUNDS_COUNTED)
    )
