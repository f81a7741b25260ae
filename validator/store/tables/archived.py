"""Rounds whose rows lie in archive files, and what of them only the store can tell once they are gone."""

from sqlalchemy import BigInteger, CheckConstraint, Column, ForeignKey, Integer, Table

from validator.store.columns import Moment, Name
from validator.store.tables.base import metadata

# One after the other from round 0 on, without a gap.
archives = Table(
    "archives",
    metadata,
    Column("first_round", BigInteger, primary_key=True, autoincrement=False),
    Column("last_round", BigInteger, nullable=False),
    Column("file", Name, nullable=False),
    Column("sha256", Name, nullable=False),  # of its manifest, which has the digests of all the rest
    Column("bytes", BigInteger, nullable=False),
    Column("removed_through", BigInteger, nullable=False),  # the rows of this round and those before are in files alone
    Column("archived_at", Moment, nullable=False),
    CheckConstraint("removed_through BETWEEN first_round - 1 AND last_round", name="removed"),
)

# What follows from dispatches that are in files alone; histories begin with it.
archived_pairs = Table(
    "archived_pairs",
    metadata,
    Column("hotkey", Name, ForeignKey("miners.hotkey"), primary_key=True),
    Column("skill_type", Name, primary_key=True),
    Column("roles", Name, nullable=False),  # as in `histories`, of rounds in files alone
    Column("dispatches", Integer, nullable=False),  # how many there are, void ones included
)
