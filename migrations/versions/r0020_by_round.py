"""What a round added to windows and to agreements is found by the round: it took a look at all there ever were."""

from alembic import op

revision = "r0020"
down_revision = "r0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Take the step."""
    for table in ("window_entries", "agreements"):
        op.create_index(op.f(f"ix_{table}_round_id"), table, ["round_id"])
