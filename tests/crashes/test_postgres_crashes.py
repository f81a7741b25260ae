"""A real Postgres that is killed, restarted, made read-only and stopped under writers; CRASHES says how often.

Its files are on a real disk and synced, as in production: other tests switch that off.
"""

import asyncio
import os
import random
import signal
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import psutil
import psycopg
import pytest
from numbered_writes import Writers, moment, written
from replicated_postgres import replicated_postgres
from store_faults import Server, postgres

from validator.store import Transaction, open_store, outages

pytestmark = [pytest.mark.attack, pytest.mark.timeout(3600)]
CRASHES = int(os.environ.get("CRASHES", "5"))
FAILOVERS = int(os.environ.get("FAILOVERS", "2"))
WRITERS = 6


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outages, "PAUSE_S", 0.05)


def killed(server: Server) -> None:
    server.kill()
    server.start()


def one_session_killed(server: Server) -> None:
    """Kill one backend: the postmaster then ends all others and replays the log, so memory is lost."""
    with psycopg.connect(server.url, autocommit=True) as connection:
        busy = connection.execute(
            "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        ).fetchall()
    psutil.Process(busy[0][0]).kill()


def restarted(server: Server) -> None:
    server.signal(signal.SIGINT)  # a fast shutdown
    psutil.wait_procs(server.processes(), 30)
    server.start()


def hung(server: Server) -> None:
    server.signal(signal.SIGSTOP)
    server.signal(signal.SIGCONT)


def read_only(server: Server) -> None:
    """As a primary that became a replica, or whose provider has no more room."""
    for command in ("SET default_transaction_read_only = on", "RESET default_transaction_read_only"):
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute("SET default_transaction_read_only = off")
            connection.execute(f"ALTER SYSTEM {command}")
            connection.execute("SELECT pg_reload_conf(), pg_sleep(0.1)")


FAULTS: tuple[Callable[[Server], None], ...] = (killed, killed, one_session_killed, restarted, hung, read_only)


async def test_a_postgres_that_fails_loses_and_doubles_no_write(monkeypatch: pytest.MonkeyPatch) -> None:
    chance, counts = random.Random(CRASHES), Counter[str]()
    with postgres(monkeypatch) as server:
        async with open_store(server.url, writer=True, create=True) as store:
            writers = Writers(store)
            async with writers.running(WRITERS):
                for number in range(CRASHES):
                    await writers.more(chance.randint(1, 40))
                    fault = FAULTS[number % len(FAULTS)] if number < len(FAULTS) else chance.choice(FAULTS)
                    await asyncio.to_thread(fault, server)
                    counts[fault.__name__] += 1
                await writers.more(20)
            assert await written(store) == Counter(writers.done)
    print(f"\n{dict(counts)}: {len(writers.done)} writes, none lost, none doubled")  # noqa: T201 - the figures


async def test_a_failover_to_a_replica_loses_and_doubles_no_write() -> None:
    """The replica is a synchronous one: what it does not have was never acknowledged."""
    chance = random.Random(FAILOVERS)
    with replicated_postgres() as pair:
        async with open_store(pair.url, writer=True, create=True) as store:
            writers = Writers(store)
            async with writers.running(WRITERS):
                for _ in range(FAILOVERS):
                    await writers.more(chance.randint(1, 40))
                    await asyncio.to_thread(pair.fail_over)
                await writers.more(20)
            assert await written(store) == Counter(writers.done)
    print(f"\n{FAILOVERS} failovers: {len(writers.done)} writes, none lost, none doubled")  # noqa: T201 - the figures


async def test_the_number_of_a_transaction_that_a_crash_undid_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Postgres gives it to the next one, if nothing of the first had reached the disk."""
    with postgres(monkeypatch) as server:
        async with open_store(server.url, writer=True, create=True) as store:
            begin, begun = store.begin, 0

            @asynccontextmanager
            async def dies_at_its_commit() -> AsyncIterator[Transaction]:
                nonlocal begun
                begun += 1
                first = begun == 1
                async with begin() as tx:
                    yield tx
                    if first:
                        await asyncio.to_thread(server.kill)
                if first:
                    raise AssertionError("a dead server answered a commit")

            async def others() -> None:
                await asyncio.to_thread(server.start)
                for number in range(1, 4):
                    async with begin() as tx:
                        await tx.drains.ask(moment(number))

            monkeypatch.setattr(store, "begin", dies_at_its_commit)
            monkeypatch.setattr(outages, "PAUSE_S", 0.0)
            turn = asyncio.Event()
            store.on_outage = lambda _: turn.set()

            async def first(tx: Transaction) -> None:
                await tx.drains.ask(moment(0))

            async with asyncio.TaskGroup() as group:
                group.create_task(store.lasting(first))
                await turn.wait()
                await others()
            assert await written(store) == Counter(range(4))
