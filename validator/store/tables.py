"""Every table of the store. A change here needs a migration (a test compares the two).

State is keyed by hotkey; a dispatch by (round_id, task_id, hotkey). Blobs are canonical bytes, compressed (`codec`),
unless the column says otherwise.
"""

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    UniqueConstraint,
    text,
)

from sssa.protocol.execution import WORK_STATES
from sssa.protocol.reasons import Reason
from sssa.protocol.results import RawAnswer
from sssa.protocol.skill_types import SkillType
from sssa.protocol.waiting_work import CODE, EXECUTIONS, Executed, Judged
from validator.store.columns import Json, Message, Moment, Name, Real, Sealed, Word
from validator.store.rows import UnpaidWindow

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def one_of(column: str, values: tuple[str, ...]) -> CheckConstraint:
    """Return the check that `column` holds one of `values`."""
    return CheckConstraint(f"{column} IN ({', '.join(repr(value) for value in values)})", name=column)


def sparse(column: str) -> Index:
    """Return an index of the few rows in which `column` is not null."""
    # Not `postgresql_where`: it loads that dialect for readers of a file. On Postgres, migrations alone make tables.
    return Index(None, column, sqlite_where=text(f"{column} IS NOT NULL"))


def of_dispatch() -> ForeignKeyConstraint:
    """Return the reference to a dispatch."""
    return ForeignKeyConstraint(
        ["round_id", "task_id", "hotkey"], ["dispatches.round_id", "dispatches.task_id", "dispatches.hotkey"]
    )


def of_task() -> ForeignKeyConstraint:
    """Return the reference to a task."""
    return ForeignKeyConstraint(["round_id", "task_id"], ["tasks.round_id", "tasks.task_id"])


ROUND_STATES: Final = ("open", "settled", "void", "skipped", "abandoned")
TASK_STATES: Final = ("open", "settled", "void", "skipped")

miners = Table(
    "miners",
    metadata,
    Column("hotkey", Name, primary_key=True),
    Column("uid", Integer, nullable=False),  # of the last sight; never a key
    Column("first_seen_block", BigInteger, nullable=False),
    Column("last_seen_block", BigInteger, nullable=False),
)

capabilities = Table(
    "capabilities",
    metadata,
    # No foreign key: a declaration may be fetched before its miner's first round.
    Column("hotkey", Name, primary_key=True),
    Column("document", Sealed, nullable=False),  # the bytes as received
    Column("issued_at", Moment, nullable=False),
    Column("expires_at", Moment, nullable=False),
    Column("fetched_at", Moment, nullable=False),
)

salts = Table(
    "salts",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("salt", LargeBinary, nullable=False),  # raw; secret until its epoch has ended
    Column("commitment", Name, nullable=False, unique=True),
    Column("epoch", BigInteger, unique=True),  # null: committed to, not in use yet
    Column("revealed_in", BigInteger),  # sequence of the receipt that made the salt public
)

rounds = Table(
    "rounds",
    metadata,
    Column("round_id", BigInteger, primary_key=True, autoincrement=False),
    Column("epoch", BigInteger, nullable=False),
    Column("block", BigInteger, nullable=False),
    Column("block_hash", Name, nullable=False),
    Column("state", Name, nullable=False),
    Column("reason", Word(Reason)),
    Column("input", LargeBinary),  # RoundInput of an open round; holds its seed, secret while its salt is
    Column("plan", Sealed),  # RoundPlan of an open round
    Column("input_sha256", Name),
    Column("netuid", Integer),  # null: skipped
    Column("scoring_version", Name),  # the same
    Column("outcome_sha256", Name),
    Column("started_at", Moment, nullable=False),
    Column("settled_at", Moment),
    Column("task_count", Integer, nullable=False),
    Column("dispatch_count", Integer, nullable=False),
    Column("accepted_count", Integer),
    Column("failed_count", Integer),
    Column("mean_quality", Real),
    Column("mean_consensus", Real),
    one_of("state", ROUND_STATES),
    Index(None, "state"),
)

stalls = Table(
    "stalls",
    metadata,
    Column("round_id", BigInteger, ForeignKey("rounds.round_id"), primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("started_at", Moment, nullable=False),
    Column("seconds", Real, nullable=False),
)

tasks = Table(
    "tasks",
    metadata,
    Column("round_id", BigInteger, ForeignKey("rounds.round_id"), primary_key=True, autoincrement=False),
    Column("task_id", Name, primary_key=True),
    Column("position", Integer, nullable=False),  # plan order
    Column("skill_type", Word(SkillType), nullable=False),
    Column("slot", Integer, nullable=False),
    Column("source_sha256", Name, nullable=False),
    Column("bundle_sha256", Name, nullable=False),  # no foreign key: bundles go when their retention ends
    Column("nonce", Name, nullable=False),
    Column("provenance", Name, nullable=False),
    Column("mode", Name, nullable=False),
    Column("state", Name, nullable=False),
    Column("reason", Word(Reason)),
    one_of("state", TASK_STATES),
    UniqueConstraint("round_id", "position"),
    Index(None, "source_sha256"),
)

given_tasks = Table(
    "given_tasks",
    metadata,
    Column("skill_type", Word(SkillType), primary_key=True),
    Column("source_sha256", Name, primary_key=True),
    Column("given", BigInteger, nullable=False),  # frozen into a round so often; the late catch up (GivenTasks)
    Column("last_round", BigInteger, nullable=False),
    Index(None, "skill_type", "given"),
    Index(None, "skill_type", "last_round"),
)

retired_tasks = Table(
    "retired_tasks",
    metadata,
    Column("source_sha256", Name, primary_key=True),
    Column("retired_at", Moment, nullable=False),
)

# Bundles that somebody submitted, in the order of their numbers.
submitted_skills = Table(
    "submitted_skills",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("sha256", Name, nullable=False, unique=True),
    Column("skill_type", Word(SkillType), nullable=False),
    Column("data", LargeBinary),  # gzip tar; null once a round had it
    Column("submitted_at", Moment, nullable=False),
    Column("round_id", BigInteger, ForeignKey("rounds.round_id")),  # null: it waits
)

bundles = Table(
    "bundles",
    metadata,
    Column("sha256", Name, primary_key=True),
    Column("data", LargeBinary, nullable=False),  # gzip tar as dispatched
    Column("stored_at", Moment, nullable=False),
    Index(None, "stored_at"),
)


DISPATCH_STATES: Final = ("planned", "sent", "answered", "failed", "void")

dispatches = Table(
    "dispatches",
    metadata,
    Column("round_id", BigInteger, primary_key=True, autoincrement=False),
    Column("task_id", Name, primary_key=True),
    Column("hotkey", Name, ForeignKey("miners.hotkey"), primary_key=True),
    Column("skill_type", Word(SkillType), nullable=False),
    Column("role", Name, nullable=False),
    Column("rank", Integer, nullable=False),  # place in the group: primaries by rank, then auditors by draw
    Column("state", Name, nullable=False),
    Column("reason", Word(Reason)),
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
    Column("signed_sha256", Name),  # of the attestation or the plan
    # Submission without its sssa, or WorkflowSubmission without its plan and with its run by hash
    Column("submission", Json(dict[str, object])),
    of_task(),
    one_of("state", DISPATCH_STATES),
    CheckConstraint("role IN ('primary', 'auditor')", name="role"),
    Index(None, "hotkey", "skill_type", "round_id"),
    sparse("entered_in"),
)

# Of open rounds: the documents of answers that are judged before their round is settled, such as runs of plans.
judged_documents = Table(
    "judged_documents",
    metadata,
    Column("round_id", BigInteger, primary_key=True, autoincrement=False),
    Column("task_id", Name, primary_key=True),
    Column("hotkey", Name, primary_key=True),
    Column("signed", LargeBinary, nullable=False),  # what the miner signed
    Column("run", LargeBinary),  # the result of running it
    of_dispatch(),
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


RECEIPT_KINDS: Final = ("opening", "round", "closing", "weights", "fate", "key", "revocation")

# Of every round that has ended: see `record.py`. Nothing changes or removes a row.
records = Table(
    "records",
    metadata,
    Column("round_id", BigInteger, ForeignKey("rounds.round_id"), primary_key=True, autoincrement=False),
    Column("part", Integer, primary_key=True, autoincrement=False),
    Column("frame", LargeBinary, nullable=False),
)

receipts = Table(
    "receipts",
    metadata,
    Column("sequence", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", Name, nullable=False),
    Column("round_id", BigInteger, ForeignKey("rounds.round_id"), unique=True),  # null: not of a round
    Column("sha256", Name, nullable=False),  # of the line
    Column("line", LargeBinary, nullable=False),  # as exported, without the newline
    Column("subject", Name),  # of a key: its public bytes, of a revocation: what is revoked, in hex
    one_of("kind", RECEIPT_KINDS),
    sparse("subject"),
)

# What a receipt of kind `weights` names: one for each vector that was computed.
weight_links = Table(
    "weight_links",
    metadata,
    Column("sequence", BigInteger, ForeignKey("receipts.sequence"), primary_key=True, autoincrement=False),
    Column("netuid", Integer, nullable=False),
    Column("mechid", Integer, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("reason", Word(Reason)),  # why it is not sent; null: it is
    Column("sha256", Name, nullable=False),  # of the line
    Column("line", LargeBinary, nullable=False),  # as exported, without the newline
    Index(None, "netuid", "mechid", "epoch"),
)


state_miners = Table(
    "state_miners",
    metadata,
    Column("hotkey", Name, primary_key=True),
    Column("miner", Sealed, nullable=False),  # Miner
)

state_shared = Table(
    "state_shared",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("shared", Sealed, nullable=False),  # Shared without the rows of the two tables below
    CheckConstraint("id = 1", name="one"),
)

# The newest that were frozen.
state_rounds = Table(
    "state_rounds",
    metadata,
    Column("place", BigInteger, primary_key=True, autoincrement=False),  # in the order of their ends
    Column("round", Sealed, nullable=False),  # FrozenRound
)

# Of which results are still to come.
state_late = Table(
    "state_late",
    metadata,
    Column("round_id", BigInteger, primary_key=True, autoincrement=False),
    Column("late", Sealed, nullable=False),  # Late
)

# Whole states after rounds, to step from.
state_copies = Table(
    "state_copies",
    metadata,
    Column("round_id", BigInteger, primary_key=True, autoincrement=False),
    Column("state", Sealed, nullable=False),  # State, compressed
)


store_chain = Table(
    "store_chain",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("genesis", Name, nullable=False),
    Column("netuid", Integer, nullable=False),
    Column("adopted_at", Moment, nullable=False),
    CheckConstraint("id = 1", name="one"),
)


flags = Table(
    "flags",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("hotkey", Name, ForeignKey("miners.hotkey"), nullable=False),
    Column("skill_type", Word(SkillType), nullable=False),
    Column("round_id", BigInteger, ForeignKey("rounds.round_id"), nullable=False),
    Column("mean_with_primaries", Real, nullable=False),
    Column("mean_with_auditors", Real, nullable=False),
    Column("mean_own", Real, nullable=False),
    Column("mean_witnesses", Real, nullable=False),
    Column("samples", Integer, nullable=False),
    Column("raised_at", Moment, nullable=False),
    UniqueConstraint("hotkey", "skill_type", "round_id"),
)

# Flags that an operator cleared.
acts = Table(
    "acts",
    metadata,
    Column("hotkey", Name, primary_key=True),
    Column("skill_type", Word(SkillType), primary_key=True),
    Column("round_id", BigInteger, primary_key=True, autoincrement=False),  # that raised the flag
    Column("cleared_at", Moment, nullable=False),
    Column("reason", Message, nullable=False),
    # The round whose input has the act; the flag counts until that round has ended.
    Column("input_round", BigInteger),
)


drains = Table(
    "drains",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("requested_at", Moment, nullable=False),
    Column("taken_at", Moment),  # by the validator that ran then
    Column("ended_at", Moment),  # it had no round in hand any more
    CheckConstraint("ended_at IS NULL OR taken_at IS NOT NULL", name="ended"),
)

# Of lasting writes on Postgres: a token tells that the commit arrived whose answer was lost. A later write removes it.
write_tokens = Table("write_tokens", metadata, Column("token", Name, primary_key=True))


waiting_work = Table(
    "waiting_work",
    metadata,
    Column("kind", Name, primary_key=True),
    Column("work_id", Name, primary_key=True),
    Column("round_id", BigInteger, nullable=False),
    Column("task_id", Name, nullable=False),
    Column("skill_type", Word(SkillType), nullable=False),
    Column("place", Integer, nullable=False),  # of an execution, in the order of the round's draws
    Column("hotkeys", Json(tuple[str, ...]), nullable=False),  # the miners whose answers it concerns
    Column("state", Name, nullable=False),
    Column("attempts", Integer, nullable=False),  # begun, the running one included
    Column("queued_at", Moment, nullable=False),
    Column("due_at", Moment, nullable=False),  # pending: not tried before
    Column("started_at", Moment),  # of the last try
    Column("ended_at", Moment),
    Column("reason", Word(Reason)),  # of the end; pending: of the last try
    Column("detail", Message),
    Column("result", Json(Executed | Judged)),
    Column("entered_in", BigInteger, ForeignKey("rounds.round_id")),  # the round whose input has the result
    of_task(),
    one_of("kind", (EXECUTIONS, CODE)),
    one_of("state", WORK_STATES),
    CheckConstraint("(state IN ('done', 'inconclusive')) = (ended_at IS NOT NULL)", name="ended"),
    CheckConstraint("state <> 'done' OR result IS NOT NULL", name="done"),
    CheckConstraint("entered_in IS NULL OR state = 'done'", name="entered"),
    UniqueConstraint("round_id", "task_id", "kind", "hotkeys"),
    Index(None, "kind", "state", "due_at"),
    Index(None, "entered_in"),
    Index(None, "kind", "hotkeys", "started_at"),
)


WEIGHT_STATES: Final = ("prepared", "submitted", "confirmed", "rejected", "unknown", "expired")
ROW_STATES: Final = ("committed", "revealed", "reveal_failed", "as_sent", "altered", "unseen", "undetermined")

weight_submissions = Table(
    "weight_submissions",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("netuid", Integer, nullable=False),
    Column("mechid", Integer, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("state", Name, nullable=False),
    Column("attempts", Integer, nullable=False),  # how often it was handed over for signing
    Column("signed_block", BigInteger),  # the head at the last of them
    Column("lifetime", Integer),  # so many blocks past the head at signing it may still arrive
    Column("expiry_block", BigInteger),  # past this block it certainly does not
    Column("block", BigInteger),  # of inclusion
    Column("sent", Json(dict[int, int])),  # uid -> u16 as the chain should store it
    Column("vector", Json(dict[str, float]), nullable=False),  # hotkey -> weight
    Column("scores", Json(dict[str, float]), nullable=False),  # hotkey -> score
    Column("unallocated", Real, nullable=False),
    Column("message", Message),
    Column("extrinsic", Name),
    Column("link", BigInteger, ForeignKey("weight_links.sequence")),  # its receipt
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    Column("row_state", Name),  # of the row on chain, once it was compared; null before
    one_of("state", WEIGHT_STATES),
    one_of("row_state", ROW_STATES),
    UniqueConstraint("netuid", "mechid", "epoch"),
)

# What this validator last knew of its own updates on chain: any other is somebody else's.
weight_marks = Table(
    "weight_marks",
    metadata,
    Column("netuid", Integer, primary_key=True, autoincrement=False),
    Column("mechid", Integer, primary_key=True, autoincrement=False),
    Column("hotkey", Name, primary_key=True),
    Column("uid", Integer, nullable=False),
    Column("last_update", BigInteger, nullable=False),
    Column("block", BigInteger, nullable=False),  # at which that was so
    Column("updated_at", Moment, nullable=False),
)

weight_locks = Table(
    "weight_locks",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("locked_at", Moment, nullable=False),
    Column("seen", Message, nullable=False),
    Column("cleared_at", Moment),
    Column("cleared_reason", Message),
    CheckConstraint("(cleared_at IS NULL) = (cleared_reason IS NULL)", name="cleared"),
)

# One per mechanism and epoch, sent or not (SPEC 11, D-23).
weight_vectors = Table(
    "weight_vectors",
    metadata,
    Column("netuid", Integer, primary_key=True, autoincrement=False),
    Column("mechid", Integer, primary_key=True, autoincrement=False),
    Column("epoch", BigInteger, primary_key=True, autoincrement=False),
    Column("round_id", BigInteger, ForeignKey("rounds.round_id")),  # the newest that was frozen; null before the first
    Column("block", BigInteger, nullable=False),  # of the snapshot
    Column("scoring_version", Name, nullable=False),
    Column("positive", Boolean, nullable=False),
    Column("unpaid", Json(tuple[UnpaidWindow, ...]), nullable=False),
    Column("computed_at", Moment, nullable=False),
    Column("link", BigInteger, ForeignKey("weight_links.sequence")),  # its receipt
)
