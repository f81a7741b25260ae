"""Collusion flags, agreement samples and reputations."""

from sqlalchemy import BigInteger, Boolean, CheckConstraint, Column, ForeignKey, Index, Integer, Table, UniqueConstraint

from validator.store.columns import Message, Moment, Name, Real, ReasonCode
from validator.store.tables.base import metadata, sparse

flags = Table(
    "flags",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("hotkey", Name, ForeignKey("miners.hotkey"), nullable=False),
    Column("skill_type", Name, nullable=False),
    Column("round_id", BigInteger, ForeignKey("rounds.round_id"), nullable=False),
    Column("mean_with_primaries", Real, nullable=False),
    Column("mean_with_auditors", Real, nullable=False),
    Column("samples", Integer, nullable=False),
    Column("raised_at", Moment, nullable=False),
    Column("cleared_at", Moment),
    Column("cleared_reason", Message),
    # The round from whose frozen input on it is cleared, and whose input says so.
    Column("told_in", BigInteger),
    CheckConstraint("(cleared_at IS NULL) = (cleared_reason IS NULL)", name="cleared"),
    UniqueConstraint("hotkey", "skill_type", "round_id"),
)

agreements = Table(
    "agreements",
    metadata,
    Column("hotkey", Name, ForeignKey("miners.hotkey"), primary_key=True),
    Column("skill_type", Name, primary_key=True),
    Column("round_id", BigInteger, ForeignKey("rounds.round_id"), primary_key=True, autoincrement=False),
    Column("with_primaries", Real),
    Column("with_auditors", Real),
    Column("counted", Boolean, nullable=False),
    Column("reason", ReasonCode, nullable=False),
    Column("consumed_by", Integer, ForeignKey("flags.id")),  # D-9
    sparse("consumed_by"),
    Index(None, "round_id"),
)

reputations = Table(
    "reputations",
    metadata,
    Column("hotkey", Name, ForeignKey("miners.hotkey"), primary_key=True),
    Column("skill_type", Name, primary_key=True),
    Column("value", Real, nullable=False),
    CheckConstraint("value >= 0 AND value <= 1", name="value"),
)
