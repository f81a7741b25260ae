"""Collusion flags, agreement samples and reputations."""

import sqlalchemy as sa
from alembic import op

revision = "r0003"
down_revision = "r0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Take the step."""
    _flags()
    _agreements()
    _reputations()
    _reputation_events()


def _flags() -> None:
    op.create_table(
        "flags",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("hotkey", sa.Text(), nullable=False),
        sa.Column("skill_type", sa.Text(), nullable=False),
        sa.Column("round_id", sa.BigInteger(), nullable=False),
        sa.Column("mean_with_primaries", sa.Double(), nullable=False),
        sa.Column("mean_with_auditors", sa.Double(), nullable=False),
        sa.Column("samples", sa.Integer(), nullable=False),
        sa.Column("raised_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("cleared_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("cleared_reason", sa.Text(), nullable=True),
        sa.CheckConstraint("(cleared_at IS NULL) = (cleared_reason IS NULL)", name=op.f("ck_flags_cleared")),
        sa.ForeignKeyConstraint(["hotkey"], ["miners.hotkey"], name=op.f("fk_flags_hotkey_miners")),
        sa.ForeignKeyConstraint(["round_id"], ["rounds.round_id"], name=op.f("fk_flags_round_id_rounds")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_flags")),
        sa.UniqueConstraint("hotkey", "skill_type", "round_id", name=op.f("uq_flags_hotkey_skill_type_round_id")),
    )


def _agreements() -> None:
    op.create_table(
        "agreements",
        sa.Column("hotkey", sa.Text(), nullable=False),
        sa.Column("skill_type", sa.Text(), nullable=False),
        sa.Column("round_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("with_primaries", sa.Double(), nullable=True),
        sa.Column("with_auditors", sa.Double(), nullable=True),
        sa.Column("counted", sa.Boolean(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("consumed_by", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(["consumed_by"], ["flags.id"], name=op.f("fk_agreements_consumed_by_flags")),
        sa.ForeignKeyConstraint(["hotkey"], ["miners.hotkey"], name=op.f("fk_agreements_hotkey_miners")),
        sa.ForeignKeyConstraint(["round_id"], ["rounds.round_id"], name=op.f("fk_agreements_round_id_rounds")),
        sa.PrimaryKeyConstraint("hotkey", "skill_type", "round_id", name=op.f("pk_agreements")),
    )
    op.create_index(op.f("ix_agreements_consumed_by"), "agreements", ["consumed_by"], unique=False)


def _reputations() -> None:
    op.create_table(
        "reputations",
        sa.Column("hotkey", sa.Text(), nullable=False),
        sa.Column("skill_type", sa.Text(), nullable=False),
        sa.Column("value", sa.Double(), nullable=False),
        sa.CheckConstraint("value >= 0 AND value <= 1", name=op.f("ck_reputations_value")),
        sa.ForeignKeyConstraint(["hotkey"], ["miners.hotkey"], name=op.f("fk_reputations_hotkey_miners")),
        sa.PrimaryKeyConstraint("hotkey", "skill_type", name=op.f("pk_reputations")),
    )


def _reputation_events() -> None:
    op.create_table(
        "reputation_events",
        sa.Column("sequence", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("round_id", sa.BigInteger(), nullable=False),
        sa.Column("hotkey", sa.Text(), nullable=False),
        sa.Column("skill_type", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("cause", sa.Text(), nullable=False),
        sa.Column("before", sa.Double(), nullable=False),
        sa.Column("after", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["hotkey"], ["miners.hotkey"], name=op.f("fk_reputation_events_hotkey_miners")),
        sa.ForeignKeyConstraint(["round_id"], ["rounds.round_id"], name=op.f("fk_reputation_events_round_id_rounds")),
        sa.PrimaryKeyConstraint("sequence", name=op.f("pk_reputation_events")),
    )
    op.create_index(
        op.f("ix_reputation_events_hotkey_skill_type_sequence"),
        "reputation_events",
        ["hotkey", "skill_type", "sequence"],
        unique=False,
    )
    op.create_index(op.f("ix_reputation_events_round_id"), "reputation_events", ["round_id"], unique=False)
