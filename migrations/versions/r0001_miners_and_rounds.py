"""Miners, their declarations, and rounds with their tasks and groups."""

import sqlalchemy as sa
from alembic import op

revision = "r0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Take the step."""
    _miners()
    _capabilities()
    _salts()
    _rounds()
    _tasks()
    _groups()
    _bundles()


def _miners() -> None:
    op.create_table(
        "miners",
        sa.Column("hotkey", sa.Text(), nullable=False),
        sa.Column("uid", sa.Integer(), nullable=False),
        sa.Column("first_seen_block", sa.BigInteger(), nullable=False),
        sa.Column("last_seen_block", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("hotkey", name=op.f("pk_miners")),
    )


def _capabilities() -> None:
    op.create_table(
        "capabilities",
        sa.Column("hotkey", sa.Text(), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.Column("issued_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("fetched_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("hotkey", name=op.f("pk_capabilities")),
    )


def _salts() -> None:
    op.create_table(
        "salts",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("salt", sa.LargeBinary(), nullable=False),
        sa.Column("commitment", sa.Text(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=True),
        sa.Column("first_round", sa.BigInteger(), nullable=True),
        sa.Column("last_round", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_salts")),
        sa.UniqueConstraint("commitment", name=op.f("uq_salts_commitment")),
        sa.UniqueConstraint("epoch", name=op.f("uq_salts_epoch")),
    )


def _rounds() -> None:
    op.create_table(
        "rounds",
        sa.Column("round_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("block", sa.BigInteger(), nullable=False),
        sa.Column("block_hash", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("input", sa.LargeBinary(), nullable=True),
        sa.Column("input_sha256", sa.Text(), nullable=True),
        sa.Column("outcome", sa.LargeBinary(), nullable=True),
        sa.Column("outcome_sha256", sa.Text(), nullable=True),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("settled_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("task_count", sa.Integer(), nullable=False),
        sa.Column("dispatch_count", sa.Integer(), nullable=False),
        sa.Column("accepted_count", sa.Integer(), nullable=True),
        sa.Column("failed_count", sa.Integer(), nullable=True),
        sa.Column("mean_quality", sa.Double(), nullable=True),
        sa.Column("mean_consensus", sa.Double(), nullable=True),
        sa.CheckConstraint(
            "state IN ('open', 'settled', 'void', 'skipped', 'abandoned')", name=op.f("ck_rounds_state")
        ),
        sa.PrimaryKeyConstraint("round_id", name=op.f("pk_rounds")),
    )
    op.create_index(op.f("ix_rounds_state"), "rounds", ["state"], unique=False)


def _tasks() -> None:
    op.create_table(
        "tasks",
        sa.Column("round_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("skill_type", sa.Text(), nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("source_sha256", sa.Text(), nullable=False),
        sa.Column("bundle_sha256", sa.Text(), nullable=False),
        sa.Column("nonce", sa.Text(), nullable=False),
        sa.Column("provenance", sa.Text(), nullable=False),
        sa.Column("mode", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.CheckConstraint("state IN ('open', 'settled', 'void', 'skipped')", name=op.f("ck_tasks_state")),
        sa.ForeignKeyConstraint(["round_id"], ["rounds.round_id"], name=op.f("fk_tasks_round_id_rounds")),
        sa.PrimaryKeyConstraint("round_id", "task_id", name=op.f("pk_tasks")),
        sa.UniqueConstraint("round_id", "position", name=op.f("uq_tasks_round_id_position")),
    )


def _groups() -> None:
    op.create_table(
        "groups",
        sa.Column("round_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("primaries", sa.Text(), nullable=False),
        sa.Column("auditors", sa.Text(), nullable=False),
        sa.Column("promoted", sa.Text(), nullable=False),
        sa.Column("demoted", sa.Text(), nullable=False),
        sa.Column("excluded", sa.Text(), nullable=False),
        sa.Column("n_valid", sa.Integer(), nullable=True),
        sa.Column("threshold", sa.Integer(), nullable=True),
        sa.Column("verdict", sa.Text(), nullable=True),
        sa.Column("mean_risk", sa.Double(), nullable=True),
        sa.Column("finding_keys", sa.Text(), nullable=True),
        sa.Column("scored_provenance", sa.Text(), nullable=True),
        sa.Column("scored_verdict", sa.Text(), nullable=True),
        sa.Column("auditor_agreement", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(
            ["round_id", "task_id"], ["tasks.round_id", "tasks.task_id"], name=op.f("fk_groups_round_id_task_id_tasks")
        ),
        sa.PrimaryKeyConstraint("round_id", "task_id", name=op.f("pk_groups")),
    )


def _bundles() -> None:
    op.create_table(
        "bundles",
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.Column("stored_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_bundles")),
    )
    op.create_index(op.f("ix_bundles_stored_at"), "bundles", ["stored_at"], unique=False)
