"""Archive files, which hold the records of old rounds."""

from sqlalchemy import BigInteger, CheckConstraint, Column, Table

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
    Column("removed_through", BigInteger, nullable=False),  # records up to this round are in files alone
    Column("archived_at", Moment, nullable=False),
    CheckConstraint("removed_through BETWEEN first_round - 1 AND last_round", name="removed"),
)
