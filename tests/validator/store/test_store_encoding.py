"""A Postgres database that cannot hold every text is refused before anything is made in it."""

import os

import psycopg
import pytest

from validator.store import open_store, schema_state, upgrade
from validator.store.copying import copy_store
from validator.store.errors import StoreEncodingError


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
async def test_another_encoding_than_utf8_is_refused_in_one_line(
    postgres_server: str, sqlite_url: str, encoding: str
) -> None:
    name = f"encoded_{encoding.lower()}_{os.getpid()}"
    made = f"CREATE DATABASE {name} ENCODING '{encoding}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
    with psycopg.connect(postgres_server.format(database="postgres"), autocommit=True) as connection:
        connection.execute(made)
    url = postgres_server.format(database=name)
    words = f"the database's encoding is {encoding}, not UTF8; make one with CREATE DATABASE … ENCODING 'UTF8'"
    with pytest.raises(StoreEncodingError, match=words) as raised:
        await open_store(url, writer=True, create=True)
    assert str(raised.value).isprintable()
    with pytest.raises(StoreEncodingError):
        await upgrade(url)
    with pytest.raises(StoreEncodingError):
        await schema_state(url)
    with pytest.raises(StoreEncodingError):
        await copy_store(sqlite_url, url, lambda _table, _rows: None)
    with psycopg.connect(url) as connection:
        tables = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone()
        assert tables == (0,)
