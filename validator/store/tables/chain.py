"""Which chain and subnet the store belongs to: one row, once it is known."""

from sqlalchemy import CheckConstraint, Column, Integer, Table

from validator.store.columns import Moment, Name
from validator.store.tables.base import metadata

store_chain = Table(
    "store_chain",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("genesis", Name, nullable=False),
    Column("netuid", Integer, nullable=False),
    Column("adopted_at", Moment, nullable=False),
    CheckConstraint("id = 1", name="one"),
)
