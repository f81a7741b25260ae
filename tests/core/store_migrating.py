"""A database with the tables of an older version."""

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, MetaData, insert, select

from validator.store.connect import create_file, make_engine, writing
from validator.store.copying import plain
from validator.store.schema import MIGRATIONS
from validator.store.tables import metadata
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


async def as_older(source: str, target: str, revision: str) -> str:
    """Make an older store of a current one: with its rows, as far as there are tables and columns for them."""
    await migrate_to(target, revision)
    reading, engine = make_engine(parse_url(source), pooled=False), make_engine(parse_url(target), pooled=False)
    theirs = MetaData()
    async with reading.connect() as there, writing(engine).begin() as here:
        await here.run_sync(theirs.reflect)
        for found in metadata.sorted_tables:
            if found.name in theirs.tables:
                common = [column for column in plain(found).c if column.name in theirs.tables[found.name].c]
                rows = [row._asdict() for row in await there.execute(select(*common))]
                if rows:
                    await here.execute(insert(plain(found)), rows)
    await reading.dispose()
    await engine.dispose()
    return target
