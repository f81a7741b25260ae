"""What of a store goes when, and for how long there is room: by kind of what is kept, with archiving and without."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from validator.store.forecast import Pace, TableForecast

Kind = Literal["raw answers", "bundles", "rounds", "what stays"]
_YEAR: Final = 365
_LONGEST: Final = 100 * _YEAR  # days


class Files(NamedTuple):
    """The archive files.

    Attributes:
        rounds, bytes: in all of them.
        per_round: bytes; measured in a few rounds where there is no file yet, None where there are none of these.
    """

    rounds: int
    bytes: int
    per_round: float | None


class KindForecast(NamedTuple):
    """Tables whose rows are kept alike.

    Attributes:
        bytes: now.
        per_round: bytes that a round adds.
        kept_days: until they are removed, or archived; None for good.
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
    """How a store grows if rounds go on as they did.

    Args:
        pace: of its rounds.
        kinds: what it holds.
        files: of archives.
        archive_days: when rounds are archived.
    """

    pace: Pace
    kinds: Sequence[KindForecast]
    files: Files
    archive_days: int

    def files_after(self, days: float) -> float | None:
        """Return the bytes of archive files then; None where nothing can be said."""
        if self.files.per_round is None or self.pace.per_day is None:
            return None
        gone = self.pace.rounds + self.pace.per_day * (days - self.archive_days)
        return self.files.bytes + self.files.per_round * max(0.0, gone - self.files.rounds)

    def full_after(self, free: int, *, archived: bool, files_too: bool) -> int | None:
        """Return after how many days there is no room any more; None for more than a century, or without a pace.

        Args:
            free: bytes on the disk, and those in the database that are filled again.
            archived: whether rounds are archived.
            files_too: whether the files lie on the same disk.
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
    pace: Pace, tables: Sequence[TableForecast], kept_days: Mapping[str, int], archive_days: int, files: Files
) -> Growth:
    """Return what comes of each kind. Pure.

    Args:
        pace: of the rounds.
        tables: each with its size.
        kept_days: of the tables whose rows are removed.
        archive_days: when rounds are archived.
        files: the archives.
    """
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
