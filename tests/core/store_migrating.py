"""A database with the tables of an older version."""

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection

from validator.store.connect import create_file, make_engine, writing
from validator.store.schema import MIGRATIONS
from validator.store.urls import parse_url


async def migrate_to(url: str, revision: str) -> None:
    """Make the tables of `revision` in an empty database."""
    parsed = parse_url(url)
    create_file(parsed)
    engine = make_engine(parsed, pooled=False)

    def run(connection: Connection) -> None:
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS))
        config.attributes["connection"] = connection
        command.upgrade(config, revision)

    async with writing(engine).begin() as connection:
        await connection.run_sync(run)
    await engine.dispose()
