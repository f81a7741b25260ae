"""Dispatches, what came back, and what it was worth."""

import sqlalchemy as sa
from alembic import op

revision = "r0002"
down_revision = "r0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Take the step."""
    _sssas()
    _dispatches()
    _answers()
    _scores()


def _sssas() -> None:
    op.create_table(
        "sssas",
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_sssas")),
    )


def _dispatches() -> None:
    op.create_table(
        "dispatches",
        sa.Column("round_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("hotkey", sa.Text(), nullable=False),
        sa.Column("skill_type", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("received_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("seconds", sa.Double(), nullable=True),
        sa.Column("http_status", sa.Integer(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("detail", sa.Text(), nullable=True),
        sa.Column("body_bytes", sa.Integer(), nullable=True),
        sa.Column("sssa_sha256", sa.Text(), nullable=True),
        sa.Column("submission", sa.Text(), nullable=True),
        sa.CheckConstraint("role IN ('primary', 'auditor')", name=op.f("ck_dispatches_role")),
        sa.CheckConstraint(
            "state IN ('planned', 'sent', 'answered', 'failed', 'void')", name=op.f("ck_dispatches_state")
        ),
        sa.ForeignKeyConstraint(["hotkey"], ["miners.hotkey"], name=op.f("fk_dispatches_hotkey_miners")),
        sa.ForeignKeyConstraint(
            ["round_id", "task_id"],
            ["tasks.round_id", "tasks.task_id"],
            name=op.f("fk_dispatches_round_id_task_id_tasks"),
        ),
        sa.ForeignKeyConstraint(["sssa_sha256"], ["sssas.sha256"], name=op.f("fk_dispatches_sssa_sha256_sssas")),
        sa.PrimaryKeyConstraint("round_id", "task_id", "hotkey", name=op.f("pk_dispatches")),
    )
    op.create_index(
        op.f("ix_dispatches_hotkey_skill_type_round_id_role_state"),
        "dispatches",
        ["hotkey", "skill_type", "round_id", "role", "state"],
        unique=False,
    )


def _answers() -> None:
    op.create_table(
        "answers",
        sa.Column("round_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("hotkey", sa.Text(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("stored_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["round_id", "task_id", "hotkey"],
            ["dispatches.round_id", "dispatches.task_id", "dispatches.hotkey"],
            name=op.f("fk_answers_round_id_task_id_hotkey_dispatches"),
        ),
        sa.PrimaryKeyConstraint("round_id", "task_id", "hotkey", name=op.f("pk_answers")),
    )
    op.create_index(op.f("ix_answers_stored_at"), "answers", ["stored_at"], unique=False)


def _scores() -> None:
    op.create_table(
        "scores",
        sa.Column("round_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("hotkey", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("findings_recall", sa.Double(), nullable=True),
        sa.Column("findings_precision", sa.Double(), nullable=True),
        sa.Column("verdict_agreement", sa.Double(), nullable=True),
        sa.Column("capabilities_agreement", sa.Double(), nullable=True),
        sa.Column("risk_agreement", sa.Double(), nullable=True),
        sa.Column("dependencies_agreement", sa.Double(), nullable=True),
        sa.Column("policy_agreement", sa.Double(), nullable=True),
        sa.Column("consensus", sa.Double(), nullable=False),
        sa.Column("agreement_with_primaries", sa.Double(), nullable=True),
        sa.Column("agreement_with_auditors", sa.Double(), nullable=True),
        sa.Column("axes", sa.Text(), nullable=True),
        sa.Column("epsilon", sa.Double(), nullable=True),
        sa.Column("quality", sa.Double(), nullable=True),
        sa.Column("base_weight", sa.Double(), nullable=True),
        sa.Column("tier", sa.Double(), nullable=True),
        sa.Column("early_bonus", sa.Double(), nullable=True),
        sa.Column("role_factor", sa.Double(), nullable=True),
        sa.Column("consensus_factor", sa.Double(), nullable=True),
        sa.Column("bootstrap", sa.Double(), nullable=True),
        sa.Column("emission", sa.Double(), nullable=True),
        sa.Column("window_entry", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(
            ["round_id", "task_id", "hotkey"],
            ["dispatches.round_id", "dispatches.task_id", "dispatches.hotkey"],
            name=op.f("fk_scores_round_id_task_id_hotkey_dispatches"),
        ),
        sa.PrimaryKeyConstraint("round_id", "task_id", "hotkey", name=op.f("pk_scores")),
    )
    op.create_index(op.f("ix_scores_hotkey_round_id"), "scores", ["hotkey", "round_id"], unique=False)
