"""Size of a store by table and kind, and growth in a year. Reads only; for `validator db forecast` and disk watch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple

from sqlalchemy import func, select, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from validator.store.tables import metadata, records, rounds
from validator.store.transaction import Transaction

_DBSTAT: Final = text(
    "SELECT m.tbl_name, sum(s.pgsize) FROM dbstat AS s JOIN sqlite_master AS m ON m.name = s.name"
    " WHERE s.aggregate = TRUE GROUP BY m.tbl_name"
)


class TableSize(NamedTuple):
    """A table: how many rows, and bytes with its indices."""

    name: str
    rows: int
    bytes: int


class StoreSize(NamedTuple):
    """The bytes of a store without the log next to it, and those of a SQLite file that are free to be filled."""

    bytes: int
    reusable: int


async def table_sizes(connection: AsyncConnection) -> tuple[TableSize, ...]:
    """Return every table's size, largest first; reads the whole store. SQLite without dbstat: the values' alone."""
    found = []
    pages = await _pages(connection)
    for table in metadata.sorted_tables:
        rows = int(await connection.scalar(select(func.count()).select_from(table)) or 0)
        if connection.dialect.name == "postgresql":
            size = await connection.scalar(select(func.pg_total_relation_size(table.name)))
        elif pages is not None:
            size = pages.get(table.name, 0)
        else:
            lengths = (func.coalesce(func.length(column), 0) for column in table.columns)
            size = await connection.scalar(select(func.sum(sum(lengths, start=0))))
        found.append(TableSize(str(table.name), rows, int(size or 0)))
    return tuple(sorted(found, key=lambda one: (-one.bytes, one.name)))


async def store_size(connection: AsyncConnection) -> StoreSize:
    """Return the whole store's size."""
    if connection.dialect.name == "postgresql":
        return StoreSize(int(await connection.scalar(select(func.pg_database_size(func.current_database()))) or 0), 0)
    page, pages, free = [
        int(await connection.scalar(text(f"PRAGMA {name}")) or 0)
        for name in ("page_size", "page_count", "freelist_count")
    ]
    return StoreSize(page * pages, page * free)


async def _pages(connection: AsyncConnection) -> dict[str, int] | None:
    """Return the bytes of the pages of each SQLite table; None where this SQLite cannot tell."""
    if connection.dialect.name != "sqlite":
        return None
    try:
        return {name: int(size) for name, size in await connection.execute(_DBSTAT)}
    except DBAPIError:
        return None


_YEAR: Final = 365
_DAY: Final = timedelta(days=1)
_LEAST: Final = timedelta(hours=1)  # below that, what there is says nothing of a day
_NEWEST: Final = 1_000
KEPT_ROUNDS: Final = 144  # of `Dispatches.kept_bytes`: a day at a round per ten minutes


class Pace(NamedTuple):
    """The frozen rounds: how many, days from first to last, how many a day of the newest 1,000.

    `per_day` is None where these span less than an hour.
    """

    rounds: int
    days: float
    per_day: float | None


async def pace_of(connection: AsyncConnection) -> Pace:
    """Return how many rounds there are, and come."""
    r = rounds.c
    begun = r.input_sha256.is_not(None)
    statement = select(func.count(), func.min(r.started_at), func.max(r.started_at)).where(begun)
    many, first, last = (await connection.execute(statement)).one()
    newest = select(r.started_at).where(begun).order_by(r.round_id.desc()).limit(_NEWEST)
    times: list[datetime] = [row.started_at for row in await connection.execute(newest)]
    span = max(times) - min(times) if times else timedelta(0)
    per_day = (len(times) - 1) / (span / _DAY) if span >= _LEAST else None
    return Pace(int(many), (last - first) / _DAY if many else 0.0, per_day)


Kind = Literal["raw answers", "bundles", "rounds", "what stays"]
_LONGEST: Final = 100 * _YEAR  # days


class Files(NamedTuple):
    """The archive files: rounds, bytes, and bytes per round, measured in a few records where there is no file yet."""

    rounds: int
    bytes: int
    per_round: float | None


class KindForecast(NamedTuple):
    """Tables whose rows are kept alike.

    Attributes:
        per_round: bytes that a round adds.
        kept_days: until they are removed, or archived; None for ever.
        in_a_year, archived_in_a_year: bytes in the store, without archiving and with it.
    """

    kind: Kind
    bytes: int
    per_round: float | None
    kept_days: int | None
    in_a_year: float | None
    archived_in_a_year: float | None


@dataclass(frozen=True, slots=True)
class Growth:
    """The growth of a store if rounds continue as they did, and are archived after `archive_days`."""

    pace: Pace
    kinds: Sequence[KindForecast]
    files: Files
    archive_days: int

    @property
    def in_a_year(self) -> float | None:
        """Bytes of the store without archiving; None where nothing can be said."""
        parts = [one.in_a_year for one in self.kinds if one.in_a_year is not None]
        return sum(parts) if len(parts) == len(self.kinds) else None

    def files_after(self, days: float) -> float | None:
        """Return the bytes of archive files then; None where nothing can be said."""
        if self.files.per_round is None or self.pace.per_day is None:
            return None
        gone = self.pace.rounds + self.pace.per_day * (days - self.archive_days)
        return self.files.bytes + self.files.per_round * max(0.0, gone - self.files.rounds)

    def full_after(self, free: int, *, archived: bool, files_too: bool) -> int | None:
        """Return after how many days there is no room any more; None for more than a century, or without a pace.

        `free` counts the bytes on the disk, and those in the database that are filled again; `files_too`: the archive
        files are on the same disk.
        """
        if self.pace.per_day is None:
            return None
        low, high = 0, _LONGEST + 1
        while low < high:  # the first day on which it is full
            middle = (low + high) // 2
            if self._grown(middle, archived=archived, files_too=files_too) > free:
                high = middle
            else:
                low = middle + 1
        return None if low > _LONGEST else low

    def _grown(self, days: int, *, archived: bool, files_too: bool) -> float:
        """Return how many bytes more there are then; what is removed leaves room, and gives none back."""
        tables = sum(
            max(0.0, (_bytes_after(one, self.pace, days, archived=archived) or 0) - one.bytes) for one in self.kinds
        )
        files = (self.files_after(days) or 0) - self.files.bytes if archived and files_too else 0.0
        return tables + files


def growth(
    pace: Pace, tables: Sequence[TableSize], kept_days: Mapping[str, int], archive_days: int, files: Files
) -> Growth:
    """Return the result of each kind. Pure."""
    found = []
    for kind in ("raw answers", "bundles", "rounds", "what stays"):
        mine = [one for one in tables if _kind_of(one.name) == kind]
        size = sum(one.bytes for one in mine)
        kept = next((kept_days[one.name] for one in mine if one.name in kept_days), None)
        goes = archive_days if kind == "rounds" else kept
        held = _held(pace, kept) - (files.rounds if kind == "rounds" else 0)
        per_round = size / held if held > 0 else None
        one = KindForecast(kind, size, per_round, goes, None, None)
        found.append(
            one._replace(
                in_a_year=_bytes_after(one, pace, _YEAR, archived=False),
                archived_in_a_year=_bytes_after(one, pace, _YEAR, archived=True),
            )
        )
    return Growth(pace, found, files, archive_days)


def _kind_of(table: str) -> Kind:
    if table == "answers":
        return "raw answers"
    if table == "bundles":
        return "bundles"
    return "rounds" if table == "records" else "what stays"


def _held(pace: Pace, kept_days: int | None) -> int:
    if kept_days is None or pace.days <= kept_days:
        return pace.rounds
    return max(1, round(pace.rounds * kept_days / pace.days))


def _bytes_after(one: KindForecast, pace: Pace, days: int, *, archived: bool) -> float | None:
    if pace.per_day is None or one.per_round is None:
        return None
    coming = one.per_round * pace.per_day
    if one.kept_days is None or (one.kind == "rounds" and not archived):
        return one.bytes + coming * days
    if pace.days > one.kept_days and one.kind != "rounds":
        return float(one.bytes)
    return coming * min(pace.days + days, one.kept_days)


_ROUNDS = 8


async def files_of(connection: AsyncConnection) -> Files:
    """Return what the archives of a store take, measured in its newest records where it has none."""
    spans = await Transaction(connection).archives.spans()
    if spans:
        size = sum(span.bytes for span in spans)
        many = spans[-1].last_round + 1
        return Files(many, size, size / many)
    sizes = select(func.sum(func.length(records.c.frame))).group_by(records.c.round_id)
    newest = list(await connection.scalars(sizes.order_by(records.c.round_id.desc()).limit(_ROUNDS)))
    return Files(0, 0, sum(map(int, newest)) / len(newest) if newest else None)
