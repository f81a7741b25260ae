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
    """Make every table, after those that it refers to."""
    _acts()
    _archives()
    _bundles()
    _capabilities()
    _drains()
    _given_tasks()
    _miners()
    _retired_tasks()
    _rounds()
    _salts()
    _sssas()
    _state_copies()
    _state_late()
    _state_miners()
    _state_rounds()
    _state_shared()
    _store_chain()
    _weight_locks()
    _weight_marks()
    _workflow_runs()
    _flags()
    _receipts()
    _records()
    _stalls()
    _tasks()
    _dispatches()
    _groups()
    _waiting_work()
    _weight_links()
    _answers()
    _weight_submissions()
    _weight_vectors()


def _acts() -> None:
    op.create_table(
        "acts",
        sa.Column("hotkey", sa.Text(), nullable=False),
        sa.Column("skill_type", sa.Text(), nullable=False),
        sa.Column("round_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("cleared_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("told_in", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("hotkey", "skill_type", "round_id", name=op.f("pk_acts")),
    )


def _archives() -> None:
    op.create_table(
        "archives",
        sa.Column("first_round", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("last_round", sa.BigInteger(), nullable=False),
        sa.Column("file", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("removed_through", sa.BigInteger(), nullable=False),
        sa.Column("archived_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("removed_through BETWEEN first_round - 1 AND last_round", name=op.f("ck_archives_removed")),
        sa.PrimaryKeyConstraint("first_round", name=op.f("pk_archives")),
    )


def _bundles() -> None:
    op.create_table(
        "bundles",
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.Column("stored_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_bundles")),
    )
    op.create_index(op.f("ix_bundles_stored_at"), "bundles", ["stored_at"])


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


def _drains() -> None:
    op.create_table(
        "drains",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("asked_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("taken_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("ended_at IS NULL OR taken_at IS NOT NULL", name=op.f("ck_drains_ended")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_drains")),
    )


def _given_tasks() -> None:
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


def _miners() -> None:
    op.create_table(
        "miners",
        sa.Column("hotkey", sa.Text(), nullable=False),
        sa.Column("uid", sa.Integer(), nullable=False),
        sa.Column("first_seen_block", sa.BigInteger(), nullable=False),
        sa.Column("last_seen_block", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("hotkey", name=op.f("pk_miners")),
    )


def _retired_tasks() -> None:
    op.create_table(
        "retired_tasks",
        sa.Column("source_sha256", sa.Text(), nullable=False),
        sa.Column("retired_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("source_sha256", name=op.f("pk_retired_tasks")),
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
        sa.Column("netuid", sa.Integer(), nullable=True),
        sa.Column("scoring_version", sa.Text(), nullable=True),
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
    op.create_index(op.f("ix_rounds_state"), "rounds", ["state"])


def _salts() -> None:
    op.create_table(
        "salts",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("salt", sa.LargeBinary(), nullable=False),
        sa.Column("commitment", sa.Text(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=True),
        sa.Column("first_round", sa.BigInteger(), nullable=True),
        sa.Column("last_round", sa.BigInteger(), nullable=True),
        sa.Column("revealed_in", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_salts")),
        sa.UniqueConstraint("commitment", name=op.f("uq_salts_commitment")),
        sa.UniqueConstraint("epoch", name=op.f("uq_salts_epoch")),
    )


def _sssas() -> None:
    op.create_table(
        "sssas",
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_sssas")),
    )


def _state_copies() -> None:
    op.create_table(
        "state_copies",
        sa.Column("round_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("state", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("round_id", name=op.f("pk_state_copies")),
    )


def _state_late() -> None:
    op.create_table(
        "state_late",
        sa.Column("round_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("late", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("round_id", name=op.f("pk_state_late")),
    )


def _state_miners() -> None:
    op.create_table(
        "state_miners",
        sa.Column("hotkey", sa.Text(), nullable=False),
        sa.Column("miner", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("hotkey", name=op.f("pk_state_miners")),
    )


def _state_rounds() -> None:
    op.create_table(
        "state_rounds",
        sa.Column("place", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("round", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("place", name=op.f("pk_state_rounds")),
    )


def _state_shared() -> None:
    op.create_table(
        "state_shared",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("shared", sa.LargeBinary(), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_state_shared_one")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_state_shared")),
    )


def _store_chain() -> None:
    op.create_table(
        "store_chain",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("genesis", sa.Text(), nullable=False),
        sa.Column("netuid", sa.Integer(), nullable=False),
        sa.Column("adopted_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_store_chain_one")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_store_chain")),
    )


def _weight_locks() -> None:
    op.create_table(
        "weight_locks",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("locked_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seen", sa.Text(), nullable=False),
        sa.Column("cleared_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("cleared_reason", sa.Text(), nullable=True),
        sa.CheckConstraint("(cleared_at IS NULL) = (cleared_reason IS NULL)", name=op.f("ck_weight_locks_cleared")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_weight_locks")),
    )


def _weight_marks() -> None:
    op.create_table(
        "weight_marks",
        sa.Column("netuid", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("mechid", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("hotkey", sa.Text(), nullable=False),
        sa.Column("uid", sa.Integer(), nullable=False),
        sa.Column("last_update", sa.BigInteger(), nullable=False),
        sa.Column("block", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("netuid", "mechid", "hotkey", name=op.f("pk_weight_marks")),
    )


def _workflow_runs() -> None:
    op.create_table(
        "workflow_runs",
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_workflow_runs")),
    )


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
        sa.ForeignKeyConstraint(["hotkey"], ["miners.hotkey"], name=op.f("fk_flags_hotkey_miners")),
        sa.ForeignKeyConstraint(["round_id"], ["rounds.round_id"], name=op.f("fk_flags_round_id_rounds")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_flags")),
        sa.UniqueConstraint("hotkey", "skill_type", "round_id", name=op.f("uq_flags_hotkey_skill_type_round_id")),
    )


def _receipts() -> None:
    op.create_table(
        "receipts",
        sa.Column("sequence", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("round_id", sa.BigInteger(), nullable=True),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("line", sa.LargeBinary(), nullable=False),
        sa.CheckConstraint("kind IN ('opening', 'round', 'closing', 'weights', 'fate')", name=op.f("ck_receipts_kind")),
        sa.ForeignKeyConstraint(["round_id"], ["rounds.round_id"], name=op.f("fk_receipts_round_id_rounds")),
        sa.PrimaryKeyConstraint("sequence", name=op.f("pk_receipts")),
        sa.UniqueConstraint("round_id", name=op.f("uq_receipts_round_id")),
    )


def _records() -> None:
    op.create_table(
        "records",
        sa.Column("round_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("part", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("frame", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["round_id"], ["rounds.round_id"], name=op.f("fk_records_round_id_rounds")),
        sa.PrimaryKeyConstraint("round_id", "part", name=op.f("pk_records")),
    )


def _stalls() -> None:
    op.create_table(
        "stalls",
        sa.Column("round_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["round_id"], ["rounds.round_id"], name=op.f("fk_stalls_round_id_rounds")),
        sa.PrimaryKeyConstraint("round_id", "number", name=op.f("pk_stalls")),
    )


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
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("entry", sa.Double(), nullable=True),
        sa.Column("entered_in", sa.BigInteger(), nullable=True),
        sa.Column("kept_bytes", sa.Integer(), nullable=True),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("received_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("seconds", sa.Double(), nullable=True),
        sa.Column("http_status", sa.Integer(), nullable=True),
        sa.Column("detail", sa.Text(), nullable=True),
        sa.Column("body_bytes", sa.Integer(), nullable=True),
        sa.Column("raw", sa.Text(), nullable=True),
        sa.Column("stalled", sa.Double(), nullable=True),
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
        op.f("ix_dispatches_hotkey_skill_type_round_id"), "dispatches", ["hotkey", "skill_type", "round_id"]
    )
    op.create_index(
        op.f("ix_dispatches_entered_in"),
        "dispatches",
        ["entered_in"],
        sqlite_where=sa.text("entered_in IS NOT NULL"),
        postgresql_where=sa.text("entered_in IS NOT NULL"),
    )
    op.create_index(
        op.f("ix_dispatches_sssa_sha256"),
        "dispatches",
        ["sssa_sha256"],
        sqlite_where=sa.text("sssa_sha256 IS NOT NULL"),
        postgresql_where=sa.text("sssa_sha256 IS NOT NULL"),
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
        sa.ForeignKeyConstraint(
            ["round_id", "task_id"], ["tasks.round_id", "tasks.task_id"], name=op.f("fk_groups_round_id_task_id_tasks")
        ),
        sa.PrimaryKeyConstraint("round_id", "task_id", name=op.f("pk_groups")),
    )


def _waiting_work() -> None:
    op.create_table(
        "waiting_work",
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("work_id", sa.Text(), nullable=False),
        sa.Column("round_id", sa.BigInteger(), nullable=False),
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("skill_type", sa.Text(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("hotkeys", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("queued_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("detail", sa.Text(), nullable=True),
        sa.Column("result", sa.Text(), nullable=True),
        sa.Column("entered_in", sa.BigInteger(), nullable=True),
        sa.CheckConstraint("state <> 'done' OR result IS NOT NULL", name=op.f("ck_waiting_work_done")),
        sa.CheckConstraint(
            "(state IN ('done', 'inconclusive')) = (ended_at IS NOT NULL)", name=op.f("ck_waiting_work_ended")
        ),
        sa.CheckConstraint("entered_in IS NULL OR state = 'done'", name=op.f("ck_waiting_work_entered")),
        sa.CheckConstraint("kind IN ('executions', 'code')", name=op.f("ck_waiting_work_kind")),
        sa.CheckConstraint(
            "state IN ('pending', 'running', 'done', 'inconclusive')", name=op.f("ck_waiting_work_state")
        ),
        sa.ForeignKeyConstraint(["entered_in"], ["rounds.round_id"], name=op.f("fk_waiting_work_entered_in_rounds")),
        sa.ForeignKeyConstraint(
            ["round_id", "task_id"],
            ["tasks.round_id", "tasks.task_id"],
            name=op.f("fk_waiting_work_round_id_task_id_tasks"),
        ),
        sa.PrimaryKeyConstraint("kind", "work_id", name=op.f("pk_waiting_work")),
        sa.UniqueConstraint(
            "round_id", "task_id", "kind", "hotkeys", name=op.f("uq_waiting_work_round_id_task_id_kind_hotkeys")
        ),
    )
    op.create_index(op.f("ix_waiting_work_entered_in"), "waiting_work", ["entered_in"])
    op.create_index(op.f("ix_waiting_work_kind_hotkeys_started_at"), "waiting_work", ["kind", "hotkeys", "started_at"])
    op.create_index(op.f("ix_waiting_work_kind_state_due_at"), "waiting_work", ["kind", "state", "due_at"])


def _weight_links() -> None:
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
    op.create_index(op.f("ix_answers_stored_at"), "answers", ["stored_at"])


def _weight_submissions() -> None:
    op.create_table(
        "weight_submissions",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("netuid", sa.Integer(), nullable=False),
        sa.Column("mechid", sa.Integer(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("signed_block", sa.BigInteger(), nullable=True),
        sa.Column("lifetime", sa.Integer(), nullable=True),
        sa.Column("expiry_block", sa.BigInteger(), nullable=True),
        sa.Column("block", sa.BigInteger(), nullable=True),
        sa.Column("sent", sa.Text(), nullable=True),
        sa.Column("vector", sa.Text(), nullable=False),
        sa.Column("scores", sa.Text(), nullable=False),
        sa.Column("unallocated", sa.Double(), nullable=False),
        sa.Column("message", sa.Text(), nullable=True),
        sa.Column("extrinsic", sa.Text(), nullable=True),
        sa.Column("link", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "state IN ('prepared', 'submitted', 'confirmed', 'rejected', 'unknown', 'expired')",
            name=op.f("ck_weight_submissions_state"),
        ),
        sa.ForeignKeyConstraint(
            ["link"], ["weight_links.sequence"], name=op.f("fk_weight_submissions_link_weight_links")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_weight_submissions")),
        sa.UniqueConstraint("netuid", "mechid", "epoch", name=op.f("uq_weight_submissions_netuid_mechid_epoch")),
    )


def _weight_vectors() -> None:
    op.create_table(
        "weight_vectors",
        sa.Column("netuid", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("mechid", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("epoch", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("round_id", sa.BigInteger(), nullable=True),
        sa.Column("block", sa.BigInteger(), nullable=False),
        sa.Column("scoring_version", sa.Text(), nullable=False),
        sa.Column("positive", sa.Boolean(), nullable=False),
        sa.Column("unpaid", sa.Text(), nullable=False),
        sa.Column("computed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("link", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["link"], ["weight_links.sequence"], name=op.f("fk_weight_vectors_link_weight_links")),
        sa.ForeignKeyConstraint(["round_id"], ["rounds.round_id"], name=op.f("fk_weight_vectors_round_id_rounds")),
        sa.PrimaryKeyConstraint("netuid", "mechid", "epoch", name=op.f("pk_weight_vectors")),
    )
