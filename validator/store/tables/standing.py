"""What decides whether a window pays, kept so that no vector has to read every plan again (SPEC 16, D-23)."""

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Integer, LargeBinary, Table

from validator.store.columns import Json, Moment, Name, ReasonCode
from validator.store.computed import UnpaidWindow
from validator.store.tables.base import metadata

# Who declares what changes seldom: rounds that froze the same share one row.
declarations = Table(
    "declarations",
    metadata,
    Column("sha256", Name, primary_key=True),
    Column("document", LargeBinary, nullable=False),  # {skill_type: [hotkeys]}
)

# A row goes when an answer of a later round has passed the gates.
exclusions = Table(
    "exclusions",
    metadata,
    Column("hotkey", Name, primary_key=True),
    Column("skill_type", Name, primary_key=True),
    Column("round_id", BigInteger, ForeignKey("rounds.round_id"), nullable=False),  # the newest that excluded the pair
    Column("reason", ReasonCode, nullable=False),
)

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
