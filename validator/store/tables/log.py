"""The records of ended rounds, and what the validator signed of them and of its weights: receipts."""

from typing import Final

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, LargeBinary, Table

from validator.store.columns import Name, ReasonCode
from validator.store.tables.base import metadata, one_of

RECEIPT_KINDS: Final = ("opening", "round", "closing", "weights", "fate")

# Of every round that has ended: see `record.py`. Nothing changes a row; `validator db archive` moves them into files.
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
    one_of("kind", RECEIPT_KINDS),
)

# What a receipt of kind `weights` names: one for each vector that was computed.
weight_links = Table(
    "weight_links",
    metadata,
    Column("sequence", BigInteger, ForeignKey("receipts.sequence"), primary_key=True, autoincrement=False),
    Column("netuid", Integer, nullable=False),
    Column("mechid", Integer, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("reason", ReasonCode),  # why it is not sent; null: it is
    Column("sha256", Name, nullable=False),  # of the line
    Column("line", LargeBinary, nullable=False),  # as exported, without the newline
    Index(None, "netuid", "mechid", "epoch"),
)
