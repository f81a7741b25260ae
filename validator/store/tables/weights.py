"""Weight vectors, and what was submitted of them."""

from typing import Final

from sqlalchemy import BigInteger, Boolean, CheckConstraint, Column, ForeignKey, Integer, Table, UniqueConstraint

from validator.store.columns import Json, Message, Moment, Name, Real
from validator.store.computed import UnpaidWindow
from validator.store.tables.base import metadata, one_of

WEIGHT_STATES: Final = ("prepared", "submitted", "confirmed", "rejected", "unknown", "expired")

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

# One per mechanism and epoch, sent or not (SPEC 16, D-23).
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
