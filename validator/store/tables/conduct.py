"""Collusion flags for listings, and what an operator did about them. The state has those that stand."""

from sqlalchemy import BigInteger, Column, ForeignKey, Integer, Table, UniqueConstraint

from validator.store.columns import Message, Moment, Name, Real
from validator.store.tables.base import metadata

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
    UniqueConstraint("hotkey", "skill_type", "round_id"),
)

# Flags that an operator cleared.
acts = Table(
    "acts",
    metadata,
    Column("hotkey", Name, primary_key=True),
    Column("skill_type", Name, primary_key=True),
    Column("round_id", BigInteger, primary_key=True, autoincrement=False),  # that raised the flag
    Column("cleared_at", Moment, nullable=False),
    Column("reason", Message, nullable=False),
    # The round whose input says so; the flag stands until that round has ended.
    Column("told_in", BigInteger),
)
