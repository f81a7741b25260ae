"""The log reaches the money: receipts of vectors and of what became of them. Older vectors have none."""

import sqlalchemy as sa
from alembic import op

revision = "r0015"
down_revision = "r0014"
branch_labels = None
depends_on = None

_KINDS = "kind IN ('opening', 'round', 'closing', 'weights', 'fate')"


def upgrade() -> None:
    """Take the step."""
    with op.batch_alter_table("receipts") as table:
        table.drop_constraint(op.f("ck_receipts_kind"), type_="check")
        table.create_check_constraint(op.f("ck_receipts_kind"), _KINDS)
    op.create_table(
        "weight_links",
        sa.Column("sequence", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("netuid", sa.Integer(), nullable=False),
        sa.Column("mechid", sa.Integer(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("line", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["sequence"], ["receipts.sequence"], name=op.f("fk_weight_links_sequence_receipts")),
        sa.PrimaryKeyConstraint("sequence", name=op.f("pk_weight_links")),
    )
    op.create_index(op.f("ix_weight_links_netuid_mechid_epoch"), "weight_links", ["netuid", "mechid", "epoch"])
    for table_name in ("weight_submissions", "weight_vectors"):
        # Alembic has no word for a column with its reference that SQLite takes without copying the table.
        op.execute(
            f"ALTER TABLE {table_name} ADD COLUMN link BIGINT"
            f" CONSTRAINT fk_{table_name}_link_weight_links REFERENCES weight_links (sequence)"
        )
