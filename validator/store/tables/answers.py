"""Dispatches, and what came back."""

from typing import Final

from sqlalchemy import BigInteger, CheckConstraint, Column, ForeignKey, Index, Integer, LargeBinary, Table

from validator.protocol.round import RawAnswer
from validator.store.columns import Json, Message, Moment, Name, Real, ReasonCode
from validator.store.tables.base import metadata, of_dispatch, of_task, one_of, sparse

DISPATCH_STATES: Final = ("planned", "sent", "answered", "failed", "void")

# Of open rounds.
sssas = Table(
    "sssas",
    metadata,
    Column("sha256", Name, primary_key=True),  # of the canonical bytes with the signature's value
    Column("document", LargeBinary, nullable=False),
)

# Of open rounds.
workflow_runs = Table(
    "workflow_runs",
    metadata,
    Column("sha256", Name, primary_key=True),  # of the canonical bytes
    Column("document", LargeBinary, nullable=False),  # RunRecord
)

dispatches = Table(
    "dispatches",
    metadata,
    Column("round_id", BigInteger, primary_key=True, autoincrement=False),
    Column("task_id", Name, primary_key=True),
    Column("hotkey", Name, ForeignKey("miners.hotkey"), primary_key=True),
    Column("skill_type", Name, nullable=False),
    Column("role", Name, nullable=False),
    Column("rank", Integer, nullable=False),  # place in the group: primaries by rank, then auditors by draw
    Column("state", Name, nullable=False),
    Column("reason", ReasonCode),
    Column("entry", Real),  # what entered a score window; 0 once execution struck it (D-30)
    Column("entered_in", BigInteger),  # the later round that entered it; null: its own
    Column("kept_bytes", Integer),  # of what an answer that passed keeps permanently, as first stored
    # From here on: of an open round; then null, and in its record.
    Column("sent_at", Moment),
    Column("received_at", Moment),
    Column("seconds", Real),
    Column("http_status", Integer),
    Column("detail", Message),
    Column("body_bytes", Integer),
    Column("raw", Json(RawAnswer)),  # of what arrived, kept or not
    Column("stalled", Real),  # seconds that were measured and are not among `seconds`: the validator stood still
    Column("sssa_sha256", Name, ForeignKey("sssas.sha256"), key="signed_sha256"),  # or of the plan
    # Submission without its sssa, or WorkflowSubmission without its plan and with its run by hash
    Column("submission", Json(dict[str, object])),
    of_task(),
    one_of("state", DISPATCH_STATES),
    CheckConstraint("role IN ('primary', 'auditor')", name="role"),
    Index(None, "hotkey", "skill_type", "round_id"),
    sparse("entered_in"),
    sparse("signed_sha256", "sssa_sha256"),  # whether an attestation is referred to
)

answers = Table(
    "answers",
    metadata,
    Column("round_id", BigInteger, primary_key=True, autoincrement=False),
    Column("task_id", Name, primary_key=True),
    Column("hotkey", Name, primary_key=True),
    Column("body", LargeBinary, nullable=False),  # as received
    Column("stored_at", Moment, nullable=False),
    of_dispatch(),
    Index(None, "stored_at"),
)
