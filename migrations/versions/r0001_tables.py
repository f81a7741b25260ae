"""The tables of the program.

Until the first release a change of a table changes this file in place; after it, a change is a new revision.
"""

import sqlalchemy as sa
from alembic import op

revision = "r0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make every table, after those that it refers to; the names of constraints are those of the convention."""
    op.create_table(
        "acts",
        sa.Column("hotkey", sa.Text(), primary_key=True),
        sa.Column("skill_type", sa.Text(), primary_key=True),
        sa.Column("round_id", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("cleared_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("input_round", sa.BigInteger()),
    )
    op.create_table(
        "bundles",
        sa.Column("sha256", sa.Text(), primary_key=True),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.Column("stored_at", sa.DateTime(timezone=True), nullable=False),
        sa.Index(None, "stored_at"),
    )
    op.create_table(
        "capabilities",
        sa.Column("hotkey", sa.Text(), primary_key=True),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.Column("issued_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("fetched_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_table(
        "drains",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("requested_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("taken_at", sa.DateTime(timezone=True)),
        sa.Column("ended_at", sa.DateTime(timezone=True)),
        sa.CheckConstraint("ended_at IS NULL OR taken_at IS NOT NULL", name="ended"),
    )
    op.create_table(
        "given_tasks",
        sa.Column("skill_type", sa.Text(), primary_key=True),
        sa.Column("source_sha256", sa.Text(), primary_key=True),
        sa.Column("given", sa.BigInteger(), nullable=False),
        sa.Column("last_round", sa.BigInteger(), nullable=False),
        sa.Index(None, "skill_type", "given"),
        sa.Index(None, "skill_type", "last_round"),
    )
    op.create_table(
        "miners",
        sa.Column("hotkey", sa.Text(), primary_key=True),
        sa.Column("uid", sa.Integer(), nullable=False),
        sa.Column("first_seen_block", sa.BigInteger(), nullable=False),
        sa.Column("last_seen_block", sa.BigInteger(), nullable=False),
    )
    op.create_table(
        "retired_tasks",
        sa.Column("source_sha256", sa.Text(), primary_key=True),
        sa.Column("retired_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_table(
        "rounds",
        sa.Column("round_id", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("block", sa.BigInteger(), nullable=False),
        sa.Column("block_hash", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text()),
        sa.Column("input", sa.LargeBinary()),
        sa.Column("plan", sa.LargeBinary()),
        sa.Column("input_sha256", sa.Text()),
        sa.Column("netuid", sa.Integer()),
        sa.Column("scoring_version", sa.Text()),
        sa.Column("outcome_sha256", sa.Text()),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("settled_at", sa.DateTime(timezone=True)),
        sa.Column("task_count", sa.Integer(), nullable=False),
        sa.Column("dispatch_count", sa.Integer(), nullable=False),
        sa.Column("accepted_count", sa.Integer()),
        sa.Column("failed_count", sa.Integer()),
        sa.Column("mean_quality", sa.Double()),
        sa.Column("mean_consensus", sa.Double()),
        sa.CheckConstraint("state IN ('open', 'settled', 'void', 'skipped', 'abandoned')", name="state"),
        sa.Index(None, "state"),
    )
    op.create_table(
        "salts",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("salt", sa.LargeBinary(), nullable=False),
        sa.Column("commitment", sa.Text(), nullable=False),
        sa.Column("epoch", sa.BigInteger()),
        sa.Column("revealed_in", sa.BigInteger()),
        sa.UniqueConstraint("commitment"),
        sa.UniqueConstraint("epoch"),
    )
    op.create_table(
        "state_copies",
        sa.Column("round_id", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("state", sa.LargeBinary(), nullable=False),
    )
    op.create_table(
        "state_late",
        sa.Column("round_id", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("late", sa.LargeBinary(), nullable=False),
    )
    op.create_table(
        "state_miners",
        sa.Column("hotkey", sa.Text(), primary_key=True),
        sa.Column("miner", sa.LargeBinary(), nullable=False),
    )
    op.create_table(
        "state_rounds",
        sa.Column("place", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("round", sa.LargeBinary(), nullable=False),
    )
    op.create_table(
        "state_shared",
        sa.Column("id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("shared", sa.LargeBinary(), nullable=False),
        sa.CheckConstraint("id = 1", name="one"),
    )
    op.create_table(
        "store_chain",
        sa.Column("id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("genesis", sa.Text(), nullable=False),
        sa.Column("netuid", sa.Integer(), nullable=False),
        sa.Column("adopted_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("id = 1", name="one"),
    )
    op.create_table(
        "weight_locks",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("locked_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seen", sa.Text(), nullable=False),
        sa.Column("cleared_at", sa.DateTime(timezone=True)),
        sa.Column("cleared_reason", sa.Text()),
        sa.CheckConstraint("(cleared_at IS NULL) = (cleared_reason IS NULL)", name="cleared"),
    )
    op.create_table(
        "weight_marks",
        sa.Column("netuid", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("mechid", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("hotkey", sa.Text(), primary_key=True),
        sa.Column("uid", sa.Integer(), nullable=False),
        sa.Column("last_update", sa.BigInteger(), nullable=False),
        sa.Column("block", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_table(
        "flags",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("hotkey", sa.Text(), sa.ForeignKey("miners.hotkey"), nullable=False),
        sa.Column("skill_type", sa.Text(), nullable=False),
        sa.Column("round_id", sa.BigInteger(), sa.ForeignKey("rounds.round_id"), nullable=False),
        sa.Column("mean_with_primaries", sa.Double(), nullable=False),
        sa.Column("mean_with_auditors", sa.Double(), nullable=False),
        sa.Column("mean_own", sa.Double(), nullable=False),
        sa.Column("mean_witnesses", sa.Double(), nullable=False),
        sa.Column("samples", sa.Integer(), nullable=False),
        sa.Column("raised_at", sa.DateTime(timezone=True), nullable=False),
        sa.UniqueConstraint("hotkey", "skill_type", "round_id"),
    )
    op.create_table(
        "receipts",
        sa.Column("sequence", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("round_id", sa.BigInteger(), sa.ForeignKey("rounds.round_id")),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("line", sa.LargeBinary(), nullable=False),
        sa.Column("subject", sa.Text()),
        sa.CheckConstraint(
            "kind IN ('opening', 'round', 'closing', 'weights', 'fate', 'key', 'revocation')", name="kind"
        ),
        sa.UniqueConstraint("round_id"),
        sa.Index(
            None,
            "subject",
            sqlite_where=sa.text("subject IS NOT NULL"),
            postgresql_where=sa.text("subject IS NOT NULL"),
        ),
    )
    op.create_table(
        "submitted_skills",
        sa.Column("number", sa.Integer(), primary_key=True),
        sa.Column("sha256", sa.Text(), nullable=False, unique=True),
        sa.Column("skill_type", sa.Text(), nullable=False),
        sa.Column("data", sa.LargeBinary()),
        sa.Column("submitted_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("round_id", sa.BigInteger(), sa.ForeignKey("rounds.round_id")),
    )
    op.create_table(
        "records",
        sa.Column("round_id", sa.BigInteger(), sa.ForeignKey("rounds.round_id"), primary_key=True, autoincrement=False),
        sa.Column("part", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("frame", sa.LargeBinary(), nullable=False),
    )
    op.create_table(
        "stalls",
        sa.Column("round_id", sa.BigInteger(), sa.ForeignKey("rounds.round_id"), primary_key=True, autoincrement=False),
        sa.Column("number", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
    )
    op.create_table(
        "tasks",
        sa.Column("round_id", sa.BigInteger(), sa.ForeignKey("rounds.round_id"), primary_key=True, autoincrement=False),
        sa.Column("task_id", sa.Text(), primary_key=True),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("skill_type", sa.Text(), nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("source_sha256", sa.Text(), nullable=False),
        sa.Column("bundle_sha256", sa.Text(), nullable=False),
        sa.Column("nonce", sa.Text(), nullable=False),
        sa.Column("provenance", sa.Text(), nullable=False),
        sa.Column("mode", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text()),
        sa.CheckConstraint("state IN ('open', 'settled', 'void', 'skipped')", name="state"),
        sa.UniqueConstraint("round_id", "position"),
        sa.Index(None, "source_sha256"),
    )
    op.create_table(
        "dispatches",
        sa.Column("round_id", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("task_id", sa.Text(), primary_key=True),
        sa.Column("hotkey", sa.Text(), sa.ForeignKey("miners.hotkey"), primary_key=True),
        sa.Column("skill_type", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text()),
        sa.Column("entry", sa.Double()),
        sa.Column("entered_in", sa.BigInteger()),
        sa.Column("kept_bytes", sa.Integer()),
        sa.Column("sent_at", sa.DateTime(timezone=True)),
        sa.Column("received_at", sa.DateTime(timezone=True)),
        sa.Column("seconds", sa.Double()),
        sa.Column("http_status", sa.Integer()),
        sa.Column("detail", sa.Text()),
        sa.Column("body_bytes", sa.Integer()),
        sa.Column("raw", sa.Text()),
        sa.Column("stalled", sa.Double()),
        sa.Column("signed_sha256", sa.Text()),
        sa.Column("submission", sa.Text()),
        sa.CheckConstraint("role IN ('primary', 'auditor')", name="role"),
        sa.CheckConstraint("state IN ('planned', 'sent', 'answered', 'failed', 'void')", name="state"),
        sa.ForeignKeyConstraint(["round_id", "task_id"], ["tasks.round_id", "tasks.task_id"]),
        sa.Index(
            None,
            "entered_in",
            sqlite_where=sa.text("entered_in IS NOT NULL"),
            postgresql_where=sa.text("entered_in IS NOT NULL"),
        ),
        sa.Index(None, "hotkey", "skill_type", "round_id"),
    )
    op.create_table(
        "waiting_work",
        sa.Column("kind", sa.Text(), primary_key=True),
        sa.Column("work_id", sa.Text(), primary_key=True),
        sa.Column("round_id", sa.BigInteger(), nullable=False),
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("skill_type", sa.Text(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("hotkeys", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("queued_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True)),
        sa.Column("ended_at", sa.DateTime(timezone=True)),
        sa.Column("reason", sa.Text()),
        sa.Column("detail", sa.Text()),
        sa.Column("result", sa.Text()),
        sa.Column("entered_in", sa.BigInteger(), sa.ForeignKey("rounds.round_id")),
        sa.CheckConstraint("state <> 'done' OR result IS NOT NULL", name="done"),
        sa.CheckConstraint("(state IN ('done', 'inconclusive')) = (ended_at IS NOT NULL)", name="ended"),
        sa.CheckConstraint("entered_in IS NULL OR state = 'done'", name="entered"),
        sa.CheckConstraint("kind IN ('executions', 'code')", name="kind"),
        sa.CheckConstraint("state IN ('pending', 'running', 'done', 'inconclusive')", name="state"),
        sa.ForeignKeyConstraint(["round_id", "task_id"], ["tasks.round_id", "tasks.task_id"]),
        sa.UniqueConstraint("round_id", "task_id", "kind", "hotkeys"),
        sa.Index(None, "entered_in"),
        sa.Index(None, "kind", "hotkeys", "started_at"),
        sa.Index(None, "kind", "state", "due_at"),
    )
    op.create_table(
        "weight_links",
        sa.Column(
            "sequence", sa.BigInteger(), sa.ForeignKey("receipts.sequence"), primary_key=True, autoincrement=False
        ),
        sa.Column("netuid", sa.Integer(), nullable=False),
        sa.Column("mechid", sa.Integer(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("reason", sa.Text()),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("line", sa.LargeBinary(), nullable=False),
        sa.Index(None, "netuid", "mechid", "epoch"),
    )
    op.create_table(
        "answers",
        sa.Column("round_id", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("task_id", sa.Text(), primary_key=True),
        sa.Column("hotkey", sa.Text(), primary_key=True),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("stored_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["round_id", "task_id", "hotkey"], ["dispatches.round_id", "dispatches.task_id", "dispatches.hotkey"]
        ),
        sa.Index(None, "stored_at"),
    )
    op.create_table(
        "judged_documents",
        sa.Column("round_id", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("task_id", sa.Text(), primary_key=True),
        sa.Column("hotkey", sa.Text(), primary_key=True),
        sa.Column("signed", sa.LargeBinary(), nullable=False),
        sa.Column("run", sa.LargeBinary()),
        sa.ForeignKeyConstraint(
            ["round_id", "task_id", "hotkey"],
            ["dispatches.round_id", "dispatches.task_id", "dispatches.hotkey"],
        ),
    )
    op.create_table(
        "weight_submissions",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("netuid", sa.Integer(), nullable=False),
        sa.Column("mechid", sa.Integer(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("signed_block", sa.BigInteger()),
        sa.Column("lifetime", sa.Integer()),
        sa.Column("expiry_block", sa.BigInteger()),
        sa.Column("block", sa.BigInteger()),
        sa.Column("sent", sa.Text()),
        sa.Column("vector", sa.Text(), nullable=False),
        sa.Column("scores", sa.Text(), nullable=False),
        sa.Column("unallocated", sa.Double(), nullable=False),
        sa.Column("message", sa.Text()),
        sa.Column("extrinsic", sa.Text()),
        sa.Column("link", sa.BigInteger(), sa.ForeignKey("weight_links.sequence")),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("row_state", sa.Text()),
        sa.CheckConstraint(
            "state IN ('prepared', 'submitted', 'confirmed', 'rejected', 'unknown', 'expired')", name="state"
        ),
        sa.CheckConstraint(
            "row_state IN ('committed', 'revealed', 'reveal_failed', 'as_sent', 'altered', 'unseen', 'undetermined')",
            name="row_state",
        ),
        sa.UniqueConstraint("netuid", "mechid", "epoch"),
    )
    op.create_table(
        "weight_vectors",
        sa.Column("netuid", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("mechid", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("epoch", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("round_id", sa.BigInteger(), sa.ForeignKey("rounds.round_id")),
        sa.Column("block", sa.BigInteger(), nullable=False),
        sa.Column("scoring_version", sa.Text(), nullable=False),
        sa.Column("positive", sa.Boolean(), nullable=False),
        sa.Column("unpaid", sa.Text(), nullable=False),
        sa.Column("computed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("link", sa.BigInteger(), sa.ForeignKey("weight_links.sequence")),
    )
    op.create_table("write_tokens", sa.Column("token", sa.Text(), primary_key=True))
