"""Rounds that have ended as one record each, folded while the validator runs; windows with fewer indices."""

import sqlalchemy as sa
from alembic import op

revision = "r0021"
down_revision = "r0020"
branch_labels = None
depends_on = None

_COLUMNS = ("hotkey", "skill_type", "round_id", "task_id", "sequence", "value")


def upgrade() -> None:
    """Take the step."""
    op.create_table(
        "folded_rounds",
        sa.Column("round_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("record", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["round_id"], ["rounds.round_id"], name=op.f("fk_folded_rounds_round_id_rounds")),
        sa.PrimaryKeyConstraint("round_id", name=op.f("pk_folded_rounds")),
    )
    if op.get_bind().dialect.name == "sqlite":
        _windows_anew()
    else:
        op.drop_constraint(op.f("pk_window_entries"), "window_entries", type_="primary")
        op.drop_constraint(op.f("uq_window_entries_sequence"), "window_entries", type_="unique")
        op.create_primary_key(op.f("pk_window_entries"), "window_entries", ["sequence"])


def _windows_anew() -> None:
    """SQLite cannot change a key: a new table takes over the rows."""
    op.rename_table("window_entries", "window_entries_before")
    for name in ("hotkey_skill_type_sequence_value", "round_id"):
        op.drop_index(op.f(f"ix_window_entries_{name}"), "window_entries_before")
    op.create_table(
        "window_entries",
        sa.Column("hotkey", sa.Text(), nullable=False),
        sa.Column("skill_type", sa.Text(), nullable=False),
        sa.Column("round_id", sa.BigInteger(), nullable=False),
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("sequence", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("value", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["hotkey"], ["miners.hotkey"], name=op.f("fk_window_entries_hotkey_miners")),
        sa.ForeignKeyConstraint(["round_id"], ["rounds.round_id"], name=op.f("fk_window_entries_round_id_rounds")),
        sa.PrimaryKeyConstraint("sequence", name=op.f("pk_window_entries")),
    )
    names = ", ".join(_COLUMNS)
    op.execute(f"INSERT INTO window_entries ({names}) SELECT {names} FROM window_entries_before ORDER BY sequence")  # noqa: S608 - constants
    op.drop_table("window_entries_before")
    op.create_index(
        op.f("ix_window_entries_hotkey_skill_type_sequence_value"),
        "window_entries",
        ["hotkey", "skill_type", "sequence", "value"],
    )
    op.create_index(op.f("ix_window_entries_round_id"), "window_entries", ["round_id"])
