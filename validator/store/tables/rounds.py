"""Miners, their declarations, and rounds with their tasks and groups."""

from typing import Final

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, LargeBinary, Table, UniqueConstraint

from validator.protocol.reasons import Reason
from validator.store.columns import Json, Moment, Name, Real, ReasonCode
from validator.store.tables.base import metadata, of_task, one_of

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
    Column("document", LargeBinary, nullable=False),  # the bytes as received
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
    Column("first_round", BigInteger),
    Column("last_round", BigInteger),
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
    Column("reason", ReasonCode),
    Column("input", LargeBinary),  # RoundInput of an open round; holds its seed, secret while its salt is
    Column("input_sha256", Name),
    Column("netuid", Integer),  # null: skipped
    Column("scoring_version", Name),  # likewise
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
    Column("skill_type", Name, nullable=False),
    Column("slot", Integer, nullable=False),
    Column("source_sha256", Name, nullable=False),
    Column("bundle_sha256", Name, nullable=False),  # no foreign key: bundles go when their retention ends
    Column("nonce", Name, nullable=False),
    Column("provenance", Name, nullable=False),
    Column("mode", Name, nullable=False),
    Column("state", Name, nullable=False),
    Column("reason", ReasonCode),
    one_of("state", TASK_STATES),
    UniqueConstraint("round_id", "position"),
)

given_tasks = Table(
    "given_tasks",
    metadata,
    Column("skill_type", Name, primary_key=True),
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

# Of open rounds.
groups = Table(
    "groups",
    metadata,
    Column("round_id", BigInteger, primary_key=True, autoincrement=False),
    Column("task_id", Name, primary_key=True),
    Column("primaries", Json(tuple[str, ...]), nullable=False),
    Column("auditors", Json(tuple[str, ...]), nullable=False),
    Column("promoted", Json(tuple[str, ...]), nullable=False),
    Column("demoted", Json(tuple[str, ...]), nullable=False),
    Column("excluded", Json(dict[str, Reason]), nullable=False),
    of_task(),
)

bundles = Table(
    "bundles",
    metadata,
    Column("sha256", Name, primary_key=True),
    Column("data", LargeBinary, nullable=False),  # gzip tar as dispatched
    Column("stored_at", Moment, nullable=False),
    Index(None, "stored_at"),
)
