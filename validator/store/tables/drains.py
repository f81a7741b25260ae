"""Requests to let the running validator finish its round and end."""

from sqlalchemy import CheckConstraint, Column, Integer, Table

from validator.store.columns import Moment
from validator.store.tables.base import metadata

drains = Table(
    "drains",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("asked_at", Moment, nullable=False),
    Column("taken_at", Moment),  # by the validator that ran then
    Column("ended_at", Moment),  # it had no round in hand any more
    CheckConstraint("ended_at IS NULL OR taken_at IS NOT NULL", name="ended"),
)
