"""Running the revisions (Alembic); imported only where there is something to run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection

from validator.sources import SystemClock
from validator.store.errors import SchemaStateError

Told = Callable[[str, float], None]


def migrate(
    connection: Connection,
    folder: Path,
    told: Told = lambda _revision, _seconds: None,
) -> None:
    """Take every step that the database lacks, in its transaction.

    Args:
        connection: in a transaction, which is the caller's.
        folder: of the migrations.
        told: each revision and the seconds that it took, after it; at last `references`, where SQLite's are looked
            through.

    Raises:
        SchemaStateError: a step would break a reference.
    """
    config = Config()
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    config.attributes["connection"] = connection
    config.attributes["on_version_apply"] = _Steps(told)
    command.upgrade(config, "head")
    if connection.dialect.name == "sqlite":
        since = SystemClock().monotonic()
        broken = connection.exec_driver_sql("PRAGMA foreign_key_check").first()
        if broken is not None:
            raise SchemaStateError(f"the upgrade would break a reference of table {broken[0]}; nothing was changed")
        told("references", SystemClock().monotonic() - since)


class _Steps:
    """What Alembic calls after each step."""

    def __init__(self, told: Told) -> None:
        self._told = told
        self._since = SystemClock().monotonic()

    def __call__(self, *, step: Any, **_: Any) -> None:
        now = SystemClock().monotonic()
        self._told(step.up_revision_id, now - self._since)
        self._since = now
