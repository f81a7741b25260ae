"""What `validator db forecast` says of each kind of what is kept, and of the room that is left."""

import shutil
from typing import Any, NamedTuple

from validator.cli.output import print_line
from validator.cli.sizes import readable
from validator.cli.tables import Column, print_table
from validator.settings import StoreSettings
from validator.store.growth import Growth, KindForecast
from validator.store.sizes import StoreSize
from validator.store.urls import parse_url


class Room(NamedTuple):
    """When the disk is full.

    Attributes:
        free: bytes where the store lies, and in it; None for Postgres, which does not tell.
        plain, archived: after so many days without archiving, and with it; None where that cannot be told, or it is
            more than a century.
    """

    free: int | None
    plain: int | None
    archived: int | None


def room_of(settings: StoreSettings, size: StoreSize, found: Growth) -> Room:
    """Return for how long there is room where the store lies.

    Raises:
        OSError: the disk cannot be asked.
    """
    path = parse_url(settings.url.get_secret_value()).path
    if path is None:
        return Room(None, None, None)
    free = shutil.disk_usage(path.parent).free + size.reusable
    folder = settings.archive
    beside = folder is None or not folder.exists() or folder.stat().st_dev == path.stat().st_dev
    return Room(
        free,
        found.full_after(free, archived=False, files_too=beside),
        found.full_after(free, archived=True, files_too=beside),
    )


def growth_document(found: Growth, room: Room) -> dict[str, Any]:
    """Return it for `--json`."""
    return {
        "kinds": [one._asdict() for one in found.kinds],
        "archives": {**found.files._asdict(), "in_a_year": found.files_after(365)},
        "archive_days": found.archive_days,
        "free": room.free,
        "full_in_days": room.plain,
        "full_in_days_archived": room.archived,
    }


def print_growth(found: Growth, room: Room) -> None:
    """Print a line for each kind, then for how long there is room."""
    files = found.files
    print_table(
        [Column("kind"), Column("in the store")]
        + [Column(name, right=True) for name in ("now", "a round", "in a year", "archived, in a year")],
        [
            *(
                (
                    one.kind,
                    _kept(one),
                    readable(one.bytes),
                    readable(one.per_round),
                    readable(one.in_a_year),
                    readable(one.archived_in_a_year),
                )
                for one in found.kinds
            ),
            (
                "archive files",
                "beside it",
                readable(files.bytes),
                readable(files.per_round),
                readable(files.bytes),
                readable(found.files_after(365)),
            ),
        ],
    )
    if room.free is None:
        print_line("how much room a Postgres server has, it does not tell")
        return
    if found.pace.per_day is None:
        print_line(f"{readable(room.free)} are free; for how long cannot be told yet")
        return
    print_line(
        f"{readable(room.free)} are free: full {_when(room.plain)}; {_when(room.archived)} with"
        f" `validator db archive` after {found.archive_days} days"
    )


def _kept(one: KindForecast) -> str:
    if one.kept_days is None:
        return "for good"
    return f"for good, or archived after {one.kept_days} days" if one.kind == "rounds" else f"{one.kept_days} days"


def _when(days: int | None) -> str:
    return "not within a century" if days is None else f"in {days} days"
