"""How large the store will be: bytes per round by table, and what a year of them comes to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from validator.store.sizes import StoreSize, TableSize, store_size, table_sizes
from validator.store.tables import archives, records, rounds

_YEAR: Final = 365.0
_DAY: Final = timedelta(days=1)
_LEAST: Final = timedelta(hours=1)  # below that, what there is says nothing of a day
_NEWEST: Final = 1_000
KEPT_ROUNDS: Final = 144  # of `Dispatches.kept_bytes`: a day at a round per ten minutes


class Pace(NamedTuple):
    """What rounds there are.

    Attributes:
        rounds: how many were frozen.
        days: from the first to the last.
        per_day: of the newest 1,000; None where they span less than an hour.
    """

    rounds: int
    days: float
    per_day: float | None


class TableForecast(NamedTuple):
    """One table.

    Attributes:
        per_round: bytes of a round that stay for as long as the table keeps them; None without a round.
        kept_days: for how long; None for good.
        in_a_year: bytes; None where nothing can be said.
    """

    name: str
    rows: int
    bytes: int
    per_round: float | None
    kept_days: int | None
    in_a_year: float | None


@dataclass(frozen=True, slots=True)
class Forecast:
    """The whole store; `tables` largest first."""

    size: StoreSize
    pace: Pace
    tables: Sequence[TableForecast]

    @property
    def in_a_year(self) -> float | None:
        """Bytes of all tables together; None where nothing can be said."""
        parts = [one.in_a_year for one in self.tables if one.in_a_year is not None]
        return sum(parts) if len(parts) == len(self.tables) else None


async def forecast(connection: AsyncConnection, kept_days: Mapping[str, int]) -> Forecast:
    """Return what is in the store and will be, if rounds go on as they did.

    Args:
        connection: a read transaction.
        kept_days: of the tables whose rows are removed again.
    """
    pace = await _pace(connection)
    sizes = await table_sizes(connection)
    gone = int(await connection.scalar(select(func.coalesce(func.max(archives.c.removed_through) + 1, 0))) or 0)
    tables = [expected(one, pace, kept_days.get(one.name), gone if one.name == records.name else 0) for one in sizes]
    return Forecast(await store_size(connection), pace, tuple(tables))


def expected(size: TableSize, pace: Pace, kept_days: int | None, gone: int = 0) -> TableForecast:
    """Return one table's forecast, as if rounds that are to come stayed. Pure.

    A table whose rows are removed again is as large as it will be once rounds have gone on for longer than that.

    Args:
        size: of the table.
        pace: of the rounds.
        kept_days: until rows are removed; None for good.
        gone: rounds whose records are in archive files.
    """
    held = pace.rounds - gone
    if kept_days is not None and pace.days > kept_days:
        held = max(1, round(pace.rounds * kept_days / pace.days))
    per_round = size.bytes / held if held else None
    in_a_year: float | None = None
    if pace.per_day is not None and per_round is not None:
        coming = per_round * pace.per_day
        if kept_days is None:
            in_a_year = size.bytes + coming * _YEAR
        else:
            in_a_year = float(size.bytes) if pace.days > kept_days else coming * min(kept_days, _YEAR)
    return TableForecast(size.name, size.rows, size.bytes, per_round, kept_days, in_a_year)


async def _pace(connection: AsyncConnection) -> Pace:
    r = rounds.c
    begun = r.input_sha256.is_not(None)
    statement = select(func.count(), func.min(r.started_at), func.max(r.started_at)).where(begun)
    many, first, last = (await connection.execute(statement)).one()
    newest = select(r.started_at).where(begun).order_by(r.round_id.desc()).limit(_NEWEST)
    times: list[datetime] = [row.started_at for row in await connection.execute(newest)]
    span = max(times) - min(times) if times else timedelta(0)
    per_day = (len(times) - 1) / (span / _DAY) if span >= _LEAST else None
    return Pace(int(many), (last - first) / _DAY if many else 0.0, per_day)
