"""The jobs of waiting work in their own schema in the store's Postgres database, by Procrastinate.

The tables of waiting work are the truth and jobs only tell workers of it: one that is lost, doubled or late changes
nothing, because a try is begun and ended in the table alone.
"""

import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final, LiteralString, NamedTuple

import psycopg
import structlog
from procrastinate import App, PsycopgConnector
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException
from procrastinate.jobs import Job, Status
from procrastinate.schema import SchemaManager
from psycopg import OperationalError, sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import PoolTimeout

from sssa.protocol.reasons import Reason
from sssa.protocol.text import printable
from sssa.protocol.waiting_work import Upcoming
from sssa.sources import Clock
from validator.store import Store
from validator.store.connections import CONNECT_S, session_sql
from validator.store.errors import StoreAwayError, StoreLostError
from validator.store.urls import StoreUrl, parse_url
from validator.telemetry import Event
from validator.telemetry.repetition import Once, place_of
from validator.telemetry.reports import Reports
from validator.waiting.life_cycle import Kind, Postponed, QueueAwayError, QueueError, Tries

_OURS: Final = "sssa-validator: jobs of waiting work, "
_OWN_TABLES: Final = """
CREATE TABLE presence (
    worker_id bigint PRIMARY KEY REFERENCES procrastinate_workers (id) ON DELETE CASCADE,
    name text NOT NULL,
    queues text[] NOT NULL,
    concurrency integer NOT NULL,
    running integer NOT NULL,
    done bigint NOT NULL
)
"""
_STATEMENT_MS: Final = 30_000
_IDLE_MS: Final = 5_000


class Place(NamedTuple):
    """A database and the schema of its jobs; `conninfo` may hold a password, `shown` is for messages.

    The schema is empty until it is known: a session looks where the store's look.
    """

    conninfo: str
    schema: str
    shown: str

    async def settle(self, connection: psycopg.AsyncConnection[Any]) -> None:
        """Set the options of a new session."""
        own: dict[str, object] = {
            "statement_timeout": _STATEMENT_MS,
            "idle_in_transaction_session_timeout": _IDLE_MS,
        }
        if self.schema:
            own["search_path"] = sql.Identifier(self.schema).as_string()
        url_options = str(conninfo_to_dict(self.conninfo).get("options", ""))
        statements = session_sql(connection.info.server_version, url_options, **own)
        usual = connection.autocommit
        await connection.set_autocommit(True)  # one message: nothing is idle in between
        await connection.execute(sql.SQL(statements))
        await connection.set_autocommit(usual)


async def jobs_place(url: StoreUrl) -> Place:
    """Return the place of the jobs of a store on Postgres (QueueAwayError: the database does not answer)."""
    given: Mapping[str, Any] = conninfo_to_dict(
        url.url.set(drivername="postgresql").render_as_string(hide_password=False)
    )
    wanted = {**given, "connect_timeout": CONNECT_S, "application_name": "validator queue", "client_encoding": "utf8"}
    place = Place(make_conninfo(**wanted), "", url.shown)
    async with _connected(place) as connection:
        row = await (await connection.execute("SELECT current_schema()")).fetchone()
    return place._replace(schema=f"{row[0] if row else 'public'}_queue")


async def make_tables(place: Place) -> None:
    """Make the tables of the jobs, anew where another version made them: they hold nothing that the store does not.

    To be called by the store's writer alone.

    Raises:
        QueueError: the schema is somebody else's, or the database lets us make none.
        QueueAwayError: the database does not answer.
    """
    name = sql.Identifier(place.schema)
    async with _connected(place) as connection:
        mark = await _mark(connection, place.schema)
        if mark == _mark_of_this():
            return
        if mark is not None and not mark.startswith(_OURS):
            raise QueueError(
                f"the database has a schema `{printable(place.schema, 80)}` that is not ours; the jobs of waiting work"
                " belong there: rename it, or give the validator its own database"
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
    async with _connected(place) as connection:
        mark = await _mark(connection, place.schema)
    if mark is None:
        raise QueueError(
            f'{place.shown} has no queue: start the validator with queue.backend = "postgres", which makes it'
        )
    if mark != _mark_of_this():
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
async def _connected(place: Place) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
    try:
        async with await psycopg.AsyncConnection.connect(place.conninfo, autocommit=True) as connection:
            await place.settle(connection)
            yield connection
    except psycopg.OperationalError as error:
        raise QueueAwayError(f"{place.shown}: {printable(str(error), 200)}") from None


STALLED_S: Final = 30.0
"""A worker that has not been heard of for so long is taken for lost."""
_ALIVE: Final = """
SELECT p.name, p.queues, p.concurrency, p.running, p.done,
       extract(epoch FROM now() - w.last_heartbeat)::float8 AS silent_s
FROM presence p JOIN procrastinate_workers w ON w.id = p.worker_id
WHERE w.last_heartbeat > now() - make_interval(secs => %(seconds)s)
ORDER BY p.name, p.worker_id
"""
_PRESENT: Final = """
INSERT INTO presence (worker_id, name, queues, concurrency, running, done)
SELECT id, %(name)s, %(queues)s, %(concurrency)s, %(running)s, %(done)s
FROM procrastinate_workers WHERE id = %(worker_id)s
ON CONFLICT (worker_id) DO UPDATE SET running = excluded.running, done = excluded.done
RETURNING worker_id
"""


class Held(NamedTuple):
    """Jobs of a kind: the work ids of waiting jobs, and (work id, number of the try) of taken ones."""

    waiting: frozenset[str]
    taken: frozenset[tuple[str, int]]


class LiveWorker(NamedTuple):
    """A worker process heard of `silent_s` ago: its kinds of work, tries at a time, pieces running and done."""

    name: str
    queues: tuple[str, ...]
    concurrency: int
    running: int
    done: int
    silent_s: float


class JobQueue:
    """The jobs in one database. Every method raises QueueAwayError while that does not answer."""

    def __init__(self, app: App, shown: str) -> None:
        self.app = app
        self._shown = shown

    async def defer(self, kind: str, upcoming: Sequence[Upcoming]) -> None:
        """Put a job for each into the queue; those who come first in a miner's own row come first."""
        jobs = [
            Job(
                id=None,
                queue=kind,
                lock=None,
                queueing_lock=f"{kind}:{one.work_id}",
                task_name=kind,
                priority=-one.turn,
                task_kwargs={"work_id": one.work_id, "attempt": one.attempt},
            )
            for one in upcoming
        ]
        with suppress(AlreadyEnqueued):  # the next look sees which
            if jobs:
                async with self._away():
                    await self.app.job_manager.batch_defer_jobs_async(jobs)

    async def execute(self, statement: LiteralString, **parameters: Any) -> list[dict[str, Any]]:
        """Run one statement in the queue's schema; return its rows, none of one that has none."""
        async with self._away(), self.app.connector.pool.connection() as connection:  # type: ignore[attr-defined]
            cursor = await connection.execute(statement, parameters)
            if cursor.description is None:
                return []
            names = [column.name for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in await cursor.fetchall()]

    async def held(self, kind: str) -> Held:
        """Return the kind's jobs."""
        async with self._away():
            jobs = list(await self.app.job_manager.list_jobs_async(queue=kind))
        keys = {(job.status, str(job.task_kwargs["work_id"]), int(str(job.task_kwargs["attempt"]))) for job in jobs}
        return Held(
            frozenset(work_id for status, work_id, _ in keys if status == Status.TODO.value),
            frozenset((work_id, attempt) for status, work_id, attempt in keys if status == Status.DOING.value),
        )

    async def drop_lost(self, kind: str, stalled_s: float) -> None:
        """Take the kind's jobs from workers that have not been heard of for so long."""
        async with self._away():
            await self.app.job_manager.prune_stalled_workers(stalled_s)
            lost = await self.app.job_manager.get_stalled_jobs(queue=kind, seconds_since_heartbeat=stalled_s)
            for job in lost:
                with suppress(ConnectorException):  # its worker was not lost, and has finished it meanwhile
                    await self.app.job_manager.finish_job(job, status=Status.FAILED, delete_job=True)

    async def live(self, stalled_s: float = STALLED_S) -> tuple[LiveWorker, ...]:
        """Return the workers that were heard of within so long, by name."""
        async with self._away():
            rows = await self.app.connector.execute_query_all_async(_ALIVE, seconds=stalled_s)
        return tuple(
            LiveWorker(
                row["name"], tuple(row["queues"]), row["concurrency"], row["running"], row["done"], row["silent_s"]
            )
            for row in rows
        )

    async def present(self, worker_id: int, worker: LiveWorker) -> bool:
        """Register a worker's heartbeat; False if it was taken for lost and is not registered any more."""
        async with self._away():
            await self.app.job_manager.update_heartbeat(worker_id)
            rows = await self.app.connector.execute_query_all_async(
                _PRESENT, worker_id=worker_id, **{**worker._asdict(), "queues": list(worker.queues)}
            )
        return bool(rows)

    @asynccontextmanager
    async def _away(self) -> AsyncIterator[None]:
        try:
            yield
        except (ConnectorException, OperationalError, PoolTimeout) as error:
            cause = error.__cause__ or error
            if isinstance(error, ConnectorException) and not isinstance(cause, OperationalError | PoolTimeout):
                raise
            raise QueueAwayError(f"{self._shown}: {printable(str(cause), 200)}") from None


@asynccontextmanager
async def open_jobs(url: str, *, make: bool, connections: int = 1) -> AsyncIterator[JobQueue]:
    """Open the queue of a store on Postgres, close it afterwards.

    `make` makes its tables, else a database without those of this version is refused; it is for the store's writer
    alone. There are at most so many connections, and one more for who listens.

    Raises:
        QueueAwayError: the database does not answer.
        QueueError: the tables cannot be made, or are not those of this version.
    """
    place = await jobs_place(parse_url(url))
    await (make_tables if make else require_tables)(place)
    async with _app(place, connections).open_async() as app:
        yield JobQueue(app, place.shown)


def _app(place: Place, connections: int) -> App:
    options: dict[str, Any] = {"conninfo": place.conninfo, "min_size": 1, "max_size": connections, "timeout": 10.0}
    options["configure"] = place.settle
    return App(connector=PsycopgConnector(**options))


_EVERY_S: Final = 5.0
_AHEAD: Final = 1_000
_AWAY_S: Final = 120.0
_log = structlog.get_logger()


@dataclass(slots=True)
class Sweep:
    """The service of the daemon that keeps the queue in step with the tables, a look every `every_s`.

    A worker that has not been heard of for `stalled_s` is lost. A condition is raised when no worker does a kind of
    work.
    """

    store: Store
    clock: Clock
    jobs: JobQueue
    kinds: Sequence[Kind[Any]]
    board: Reports
    stalled_s: float = STALLED_S
    every_s: float = _EVERY_S
    _tries: Tries = field(init=False)
    _logged: Once = field(init=False)
    _looking_since: float | None = field(init=False, default=None)
    _served: float = field(init=False)
    _live: Sequence[LiveWorker] = field(init=False, default=())

    def __post_init__(self) -> None:
        self._tries = Tries(self.store, self.clock)
        self._logged = Once(self.clock)
        self._served = self.clock.monotonic()

    async def run(self) -> None:
        """Bring the queue in step until cancelled (StoreLostError: the store must not be used any more)."""
        while True:
            await self._unless_away()
            await self.clock.sleep(self.every_s)

    def at_once(self, kind: str) -> int:
        """Return how many tries of the kind the live workers make at a time."""
        return sum(one.concurrency for one in self._live if kind in one.queues)

    async def look(self) -> None:
        """Bring the queue in step with the tables once.

        Raises:
            QueueAwayError, StoreAwayError: the database does not answer.
        """
        # Workers that could not reach the database were not heard of either: they get as long again to show themselves.
        if self._looking_since is None:
            self._looking_since = self.clock.monotonic()
        settled = self.clock.monotonic() - self._looking_since >= self.stalled_s
        waits = []
        for kind in self.kinds:
            if settled:
                await self.jobs.drop_lost(kind.name, self.stalled_s)
            if await self._in_step(kind, settled=settled):
                waits.append(kind.name)
        await self._see_workers(waits)

    async def _in_step(self, kind: Kind[Any], *, settled: bool) -> bool:
        """Return whether something of the kind is due."""
        async with self.store.read() as tx:
            running = await kind.queue(tx).running()
            upcoming = await kind.queue(tx).upcoming(self.clock.now(), _AHEAD)
        # Read after the rows: a try that was running then and still is had its job taken all the while.
        held: Held = await self.jobs.held(kind.name)
        await self.jobs.defer(kind.name, [one for one in upcoming if one.work_id not in held.waiting])
        if settled:
            for taken in running:
                if (taken.work_id, taken.attempts) not in held.taken:
                    await self._tries.postpone(kind, taken, Postponed(Reason.BUG_CRASH))
        return bool(upcoming)

    async def _see_workers(self, waits: Sequence[str]) -> None:
        self._live = live = await self.jobs.live(self.stalled_s)
        missing = [name for name in waits if not any(name in one.queues for one in live)]
        now = self.clock.monotonic()
        if live and not missing:
            self._served = now
            self.board.clear("workers_away")
        elif now - self._served >= _AWAY_S:
            detail = f"no live worker for: {', '.join(missing)}" if live else "no live worker"
            self.board.raise_("workers_away", detail)

    async def _unless_away(self) -> None:
        try:
            await self.look()
        except StoreLostError:
            raise
        except (QueueAwayError, StoreAwayError):
            self._looking_since = None  # the board has it: it is the store's database
        except Exception as error:  # noqa: BLE001 - the next look may do better
            self._looking_since = None
            repeats = self._logged.fresh(place_of(error))
            if repeats is not None:
                _log.exception(Event.QUEUE_FAILED, reason=Reason.BUG_INTERNAL, repeats=repeats)
