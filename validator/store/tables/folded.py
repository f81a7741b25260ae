"""Rounds that have ended, each as one record."""

from sqlalchemy import BigInteger, Column, ForeignKey, LargeBinary, Table

from validator.store.tables.base import metadata

# What the other tables had of a round and have no more: see `folding/record.py`.
folded_rounds = Table(
    "folded_rounds",
    metadata,
    Column("round_id", BigInteger, ForeignKey("rounds.round_id"), primary_key=True, autoincrement=False),
    Column("record", LargeBinary, nullable=False),
)
