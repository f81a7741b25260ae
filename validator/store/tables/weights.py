"""Score windows and weight submissions."""

from typing import Final

from sqlalchemy import BigInteger, CheckConstraint, Column, ForeignKey, Index, Integer, Table, UniqueConstraint

from validator.store.columns import Json, Message, Moment, Name, Real
from validator.store.tables.base import metadata, one_of

WEIGHT_STATES: Final = ("prepared", "submitted", "confirmed", "rejected", "unknown", "expired")

window_entries = Table(
    "window_entries",
    metadata,
    Column("hotkey", Name, ForeignKey("miners.hotkey"), nullable=False),
    Column("skill_type", Name, nullable=False),  # free text: `workflow` joins later
    Column("round_id", BigInteger, ForeignKey("rounds.round_id"), nullable=False),
    Column("task_id", Name, nullable=False),
    # Order of insertion, over all miners. SQLite has no index beside the table for a key of type INTEGER.
    Column("sequence", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("value", Real, nullable=False),
    # Windows are read from the index alone.
    Index(None, "hotkey", "skill_type", "sequence", "value"),
    Index(None, "round_id"),
)

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
    one_of("state", WEIGHT_STATES),
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
