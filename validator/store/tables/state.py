"""The mechanism's state between rounds (`validator.state`), in encoded parts that change together.

`repositories/state.py` alone writes these tables; what it writes is the delta of a step.
"""

from sqlalchemy import BigInteger, CheckConstraint, Column, Integer, LargeBinary, Table

from validator.store.columns import Name
from validator.store.tables.base import metadata

state_miners = Table(
    "state_miners",
    metadata,
    Column("hotkey", Name, primary_key=True),
    Column("miner", LargeBinary, nullable=False),  # Miner
)

state_shared = Table(
    "state_shared",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("shared", LargeBinary, nullable=False),  # Shared without the rows of the two tables below
    CheckConstraint("id = 1", name="one"),
)

# The newest that were frozen.
state_rounds = Table(
    "state_rounds",
    metadata,
    Column("place", BigInteger, primary_key=True, autoincrement=False),  # in the order of their ends
    Column("round", LargeBinary, nullable=False),  # FrozenRound
)

# Of which results are still to come.
state_late = Table(
    "state_late",
    metadata,
    Column("round_id", BigInteger, primary_key=True, autoincrement=False),
    Column("late", LargeBinary, nullable=False),  # Late
)

# Whole states after rounds, to step from.
state_copies = Table(
    "state_copies",
    metadata,
    Column("round_id", BigInteger, primary_key=True, autoincrement=False),
    Column("state", LargeBinary, nullable=False),  # State, compressed
)
