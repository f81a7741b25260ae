"""Running the revisions (Alembic); imported only where there is something to run."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection

from validator.store.errors import SchemaStateError


def migrate(connection: Connection, folder: Path) -> None:
    """Take every step that the database lacks, in its transaction.

    Args:
        connection: in a transaction, which is the caller's.
        folder: of the migrations.

    Raises:
        SchemaStateError: a step would break a reference.
    """
    config = Config()
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
    if connection.dialect.name == "sqlite":
        broken = connection.exec_driver_sql("PRAGMA foreign_key_check").first()
        if broken is not None:
            raise SchemaStateError(f"the upgrade would break a reference of table {broken[0]}; nothing was changed")
