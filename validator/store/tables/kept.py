"""What selection needs of the past as it stands now, kept so that no round has to read all that came before it.

Both follow from other tables; `validator db check` computes them again.
"""

from sqlalchemy import Column, ForeignKey, Table

from validator.store.columns import Json, Name
from validator.store.tables.base import metadata

histories = Table(
    "histories",
    metadata,
    Column("hotkey", Name, ForeignKey("miners.hotkey"), primary_key=True),
    Column("skill_type", Name, primary_key=True),
    Column("roles", Name, nullable=False),  # of the newest rounds that assigned the pair: a letter each, newest first
)

agreement_windows = Table(
    "agreement_windows",
    metadata,
    Column("hotkey", Name, ForeignKey("miners.hotkey"), primary_key=True),
    Column("skill_type", Name, primary_key=True),
    # [round_id, with_primaries, with_auditors] of the newest that counted since the last flag, oldest first
    Column("samples", Json(tuple[tuple[int, float, float], ...]), nullable=False),
)
