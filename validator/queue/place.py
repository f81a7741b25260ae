"""Where the jobs lie: a schema of their own in the store's Postgres database, made by the validator (Procrastinate)."""

import hashlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, NamedTuple

import psycopg
from procrastinate.schema import SchemaManager
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from validator.protocol.text import printable
from validator.queue.errors import QueueAwayError, QueueError
from validator.store.connect import CONNECT_S
from validator.store.urls import StoreUrl

_OURS: Final = "sssa-validator: jobs of waiting work, "
_OWN_TABLES: Final = """
CREATE TABLE presence (
    worker_id bigint PRIMARY KEY REFERENCES procrastinate_workers (id) ON DELETE CASCADE,
    name text NOT NULL,
    queues text[] NOT NULL,
    concurrency integer NOT NULL,
    running integer NOT NULL,
    done bigint NOT NULL
);
CREATE TABLE results (
    job text PRIMARY KEY,
    made_at timestamptz NOT NULL DEFAULT now(),
    result bytea NOT NULL
)
"""
_STATEMENT_MS: Final = 30_000
_IDLE_MS: Final = 5_000


class Place(NamedTuple):
    """A database and the schema of its jobs.

    Attributes:
        conninfo: for psycopg; may hold a password.
        schema: the schema's name.
        shown: what may stand in a message.
    """

    conninfo: str
    schema: str
    shown: str


async def place_of(url: StoreUrl) -> Place:
    """Return where the jobs of a store on Postgres lie.

    Raises:
        QueueAwayError: the database does not answer.
    """
    given: Mapping[str, Any] = conninfo_to_dict(
        url.url.set(drivername="postgresql").render_as_string(hide_password=False)
    )
    async with _connected(make_conninfo(**given, connect_timeout=CONNECT_S), url.shown) as connection:
        row = await (await connection.execute("SELECT current_schema()")).fetchone()
    schema = f"{row[0] if row else 'public'}_queue"
    options = " ".join(
        (
            str(given.get("options", "")),
            f"-c search_path={schema} -c statement_timeout={_STATEMENT_MS}",
            f"-c idle_in_transaction_session_timeout={_IDLE_MS}",
        )
    )
    wanted = {**given, "connect_timeout": CONNECT_S, "application_name": "validator queue", "options": options.strip()}
    return Place(make_conninfo(**wanted), schema, url.shown)


async def make_tables(place: Place) -> None:
    """Make the tables of the jobs, anew where another version made them: they hold nothing that the store does not.

    To be called by the store's writer alone.

    Raises:
        QueueError: the schema is somebody else's, or the database lets us make none.
        QueueAwayError: the database does not answer.
    """
    name = sql.Identifier(place.schema)
    async with _connected(place.conninfo, place.shown) as connection:
        found = await _mark(connection, place.schema)
        if found == _mark_of_this():
            return
        if found is not None and not found.startswith(_OURS):
            raise QueueError(
                f"the database has a schema `{printable(place.schema, 80)}` that is not ours; the jobs of waiting work"
                " belong there: rename it, or give the validator a database of its own"
            )
        try:
            async with connection.transaction():
                await connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(name))
                await connection.execute(sql.SQL("CREATE SCHEMA {}").format(name))
                await connection.execute(SchemaManager.get_schema())
                await connection.execute(_OWN_TABLES)
                await connection.execute(
                    sql.SQL("COMMENT ON SCHEMA {} IS {}").format(name, sql.Literal(_mark_of_this()))
                )
        except psycopg.errors.InsufficientPrivilege as error:
            raise QueueError(
                f"{place.shown}: {printable(str(error), 200)}; let the validator's role make a schema there:"
                " GRANT CREATE ON DATABASE … TO …"
            ) from None


async def require_tables(place: Place) -> None:
    """Refuse a database whose jobs are not those of this program.

    Raises:
        QueueError: there are none, or another version made them; the text says what to do.
        QueueAwayError: the database does not answer.
    """
    async with _connected(place.conninfo, place.shown) as connection:
        found = await _mark(connection, place.schema)
    if found is None:
        raise QueueError(
            f'{place.shown} has no queue: start the validator with queue.backend = "postgres", which makes it'
        )
    if found != _mark_of_this():
        raise QueueError(
            f"the queue in {place.shown} was made by another version of the validator or of procrastinate:"
            " run the validator and its workers from one version"
        )


def _mark_of_this() -> str:
    tables = SchemaManager.get_schema() + _OWN_TABLES
    return _OURS + hashlib.sha256(tables.encode()).hexdigest()[:16]


async def _mark(connection: psycopg.AsyncConnection[Any], schema: str) -> str | None:
    """Return the schema's comment, None where there is no such schema."""
    cursor = await connection.execute(
        "SELECT coalesce(obj_description(oid, 'pg_namespace'), '') FROM pg_namespace WHERE nspname = %s", (schema,)
    )
    row = await cursor.fetchone()
    return None if row is None else str(row[0])


@asynccontextmanager
async def _connected(conninfo: str, shown: str) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
    try:
        async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
            yield connection
    except psycopg.OperationalError as error:
        raise QueueAwayError(f"{shown}: {printable(str(error), 200)}") from None
