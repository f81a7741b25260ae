"""A Postgres whose role or database has its own values of what a session begins with."""

import psycopg
import pytest
from doctor_kit import Place, findings
from old_rounds import play
from psycopg import sql
from sqlalchemy import text
from sqlalchemy.engine import make_url

from validator.store import open_store
from validator.store.connections import SESSION
from validator.store.errors import StoreNoWriteError
from validator.store.schema import upgrade
from validator.waiting.jobs import open_jobs

ODD = {
    "datestyle": "SQL, DMY",
    "timezone": "Asia/Kathmandu",
    "intervalstyle": "sql_standard",
    "statement_timeout": "100ms",
    "lock_timeout": "100ms",
    "idle_in_transaction_session_timeout": "100ms",
    "idle_session_timeout": "1s",
    "client_encoding": "SQL_ASCII",
    "search_path": "nowhere",
    "default_transaction_isolation": "serializable",
    "default_transaction_deferrable": "on",
    "synchronous_commit": "off",
    "standard_conforming_strings": "off",
    "bytea_output": "escape",
    "extra_float_digits": "-15",
    "array_nulls": "off",
    "transform_null_equals": "on",
    "exit_on_error": "on",
    "row_security": "off",
    "check_function_bodies": "off",
    "client_min_messages": "debug5",
}


NOT_OURS = "SELECT name FROM pg_settings WHERE lower(name) = ANY(:names) AND source <> 'session'"


@pytest.fixture(params=["role", "database"])
def odd_url(request: pytest.FixtureRequest, empty_postgres_url: str) -> str:
    """A url at which every session begins with odd values."""
    url = make_url(empty_postgres_url)
    role = f"odd_{url.database}"
    kind, named = ("ROLE", role) if request.param == "role" else ("DATABASE", str(url.database))
    with psycopg.connect(empty_postgres_url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE ROLE {} SUPERUSER LOGIN").format(sql.Identifier(role)))
        for option, value in ODD.items():
            change = sql.SQL(f"ALTER {kind} {{}} SET {option} = {{}}")
            connection.execute(change.format(sql.Identifier(named), sql.Literal(value)))
    return url.set(username=role).render_as_string(hide_password=False)


async def test_options_of_role_and_database_change_nothing(odd_url: str, place: Place) -> None:
    await upgrade(odd_url)
    await play(odd_url)
    place.settings["store"]["url"] = odd_url
    assert {one.status for one in findings(await place.examined("database"))} == {"ok"}
    async with open_store(odd_url, writer=True) as store, store.read() as tx:
        assert (await tx.connection.execute(text(NOT_OURS), {"names": list(ODD)})).all() == []
    for make in (True, False):
        async with open_jobs(odd_url, make=make) as jobs:
            assert await jobs.live() == ()
            queue = jobs.app.connector
            assert await queue.execute_query_all_async(NOT_OURS.replace(":names", "%(names)s"), names=list(ODD)) == []


async def test_a_database_that_is_read_only_ends_in_a_line_with_the_fix(empty_postgres_url: str) -> None:
    with psycopg.connect(empty_postgres_url, autocommit=True) as connection:
        change = sql.SQL("ALTER DATABASE {} SET default_transaction_read_only = on")
        connection.execute(change.format(sql.Identifier(connection.info.dbname)))
    with pytest.raises(StoreNoWriteError, match="RESET default_transaction_read_only") as raised:
        await upgrade(empty_postgres_url)
    assert "\n" not in str(raised.value)


def test_each_option_that_is_set_has_an_odd_value_here() -> None:
    assert SESSION.keys() - ODD.keys() == {"transaction_timeout"}  # not every server has it
