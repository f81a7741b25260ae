"""Location of jobs: created next to the validator's tables in their own schema; roles and rights."""

import asyncio
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from fork_start import ran
from test_queue_heals import Parts, a_worker
from waiting_world import code_world, ended, image, plain_world, until_executions
from world import one_round

from sssa.protocol.workflow_run import CodeReport
from validator.daemon.exits import Exit
from validator.sandbox.scripted import ScriptedCheck, ScriptedCodeSandbox, ScriptedSandbox
from validator.store import Store, open_store, schema_state
from validator.store.copying import copy_store
from validator.waiting.code_checks import CodeWork
from validator.waiting.jobs import Sweep, open_jobs
from validator.waiting.life_cycle import CODE_KIND, EXECUTION_KIND, QueueError
from validator.waiting.worker import QueueWorker

WITHOUT_THE_EXTRA = "import sys; sys.modules['procrastinate'] = None; from validator.cli import main; main()"


async def made(url: str) -> None:
    async with open_jobs(url, make=True):
        pass


def executed(url: str, question: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(question)
        return cursor.fetchall() if cursor.description else []


async def test_a_worker_refuses_a_database_without_a_queue(postgres_url: str) -> None:
    with pytest.raises(QueueError, match="start the validator with"):
        async with open_jobs(postgres_url, make=False):
            pass
    assert executed(postgres_url, "SELECT 1 FROM pg_namespace WHERE nspname = 'public_queue'") == []


async def test_the_validator_makes_its_queue_once(postgres_url: str) -> None:
    await made(postgres_url)
    tables = "SELECT oid FROM pg_class WHERE relnamespace = 'public_queue'::regnamespace ORDER BY 1"
    before = executed(postgres_url, tables)
    await made(postgres_url)
    assert executed(postgres_url, tables) == before != []


async def test_the_queue_of_another_version_is_made_anew_by_the_validator_alone(postgres_url: str) -> None:
    await made(postgres_url)
    executed(postgres_url, "COMMENT ON SCHEMA public_queue IS 'sssa-validator: jobs of waiting work, 0123456789abcdef'")
    executed(postgres_url, "ALTER TABLE public_queue.procrastinate_jobs DROP COLUMN worker_id")
    with pytest.raises(QueueError, match="another version"):
        async with open_jobs(postgres_url, make=False):
            pass
    await made(postgres_url)
    async with open_jobs(postgres_url, make=False) as jobs:
        assert await jobs.held("executions") == (frozenset(), frozenset())


async def test_somebody_elses_schema_of_that_name_is_left_alone(postgres_url: str) -> None:
    executed(postgres_url, "CREATE SCHEMA public_queue; CREATE TABLE public_queue.theirs (a int)")
    with pytest.raises(QueueError, match="is not ours"):
        await made(postgres_url)
    assert executed(postgres_url, "SELECT * FROM public_queue.theirs") == []


async def test_the_stores_tables_and_a_copy_know_nothing_of_it(postgres_url: str, empty_sqlite_url: str) -> None:
    await made(postgres_url)
    assert await schema_state(postgres_url) == "current"
    async with open_store(postgres_url) as store:
        await one_round(plain_world(store))
    await copy_store(postgres_url, empty_sqlite_url, lambda *_: None)
    async with open_store(empty_sqlite_url) as store, store.read() as tx:
        assert await tx.executions.unended() == 2


async def test_a_role_that_may_do_no_more_than_a_worker_does_is_enough(postgres_url: str) -> None:
    """The grants in docs/operators/more-machines.md: a worker can change nothing but executions."""
    page = (Path(__file__).parents[3] / "docs" / "operators" / "more-machines.md").read_text()
    grants = page.partition("<!-- grants -->\n```sql\n")[2].partition("```")[0]
    assert "GRANT" in grants
    role = f"worker_{postgres_url.partition('test_')[2].partition('?')[0]}"
    async with open_store(postgres_url) as store, open_jobs(postgres_url, make=True) as jobs:
        executed(postgres_url, grants.replace("sssa_worker", role).replace("'…'", "'secret'"))
        try:
            world = plain_world(store)
            await one_round(world)
            sweep = Sweep(store, world.clock, jobs, (EXECUTION_KIND,), world.board)
            await sweep.look()
            parts = Parts(world, store, jobs, sweep)
            theirs = f"{postgres_url}&options=-crole%3D{role}"
            async with a_worker(parts, theirs, ScriptedSandbox(image, world.clock)):
                assert {row.state for row in await until_executions(world, ended)} == {"done"}
            for table in ("rounds", "state_miners", "flags", "salts"):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    executed(theirs, f"DELETE FROM {table}")
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                executed(theirs, "SELECT * FROM salts")
        finally:
            executed(postgres_url, f"DROP OWNED BY {role}; DROP ROLE {role}")


async def test_that_role_is_enough_for_code(postgres_url: str) -> None:
    page = (Path(__file__).parents[3] / "docs" / "operators" / "more-machines.md").read_text()
    grants = page.partition("<!-- grants -->\n```sql\n")[2].partition("```")[0]
    role = f"worker_{postgres_url.partition('test_')[2].partition('?')[0]}"
    async with open_store(postgres_url) as store, open_jobs(postgres_url, make=True) as jobs:
        executed(postgres_url, grants.replace("sssa_worker", role).replace("'…'", "'secret'"))
        try:
            world = code_world(store)
            await one_round(world)
            await Sweep(store, world.clock, jobs, (CODE_KIND,), world.board).look()
            theirs = f"{postgres_url}&options=-crole%3D{role}"
            sandbox = ScriptedCodeSandbox(lambda _: ScriptedCheck(CodeReport(3, 4, 1)), world.clock)
            async with open_jobs(theirs, make=False, connections=2) as mine, open_store(theirs, connections=2) as same:
                work = CodeWork(same, sandbox, world.clock, world.board)
                worker, stop = QueueWorker(same, world.clock, mine, "a", 2, (work,)), asyncio.Event()
                task = asyncio.create_task(worker.run(stop))
                async with asyncio.timeout(60):
                    while await unjudged(store):  # noqa: ASYNC110 - what it looks at is in a database
                        await asyncio.sleep(0.02)
                stop.set()
                await task
            async with store.read() as tx:
                assert set(await tx.code_checks.counts()) == {"done"}
        finally:
            executed(postgres_url, f"DROP OWNED BY {role}; DROP ROLE {role}")


async def unjudged(store: Store) -> int:
    async with store.read() as tx:
        return await tx.code_checks.unended()


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        (["worker"], Exit.INPUT, "need a container engine"),
        (["worker", "--queue", "weights"], Exit.INPUT, "no such kind of work"),
        (["worker", "--concurrency", "0"], Exit.INPUT, "--concurrency"),
    ],
)
def test_what_is_not_there_is_said(
    postgres_url: str, tmp_path: Path, arguments: list[str], code: int, line: str
) -> None:
    assert_says(tmp_path, postgres_url, "", arguments, code, line)


ENGINE = '[sandbox]\nengine = "unix:///nowhere/engine.sock"\n'


def test_a_worker_of_a_sqlite_store_says_what_it_needs(sqlite_url: str, tmp_path: Path) -> None:
    assert_says(tmp_path, sqlite_url, ENGINE, ["worker"], Exit.INPUT, "need a store on Postgres: set store.url")


def test_a_worker_of_tables_of_another_version_says_so(empty_postgres_url: str, tmp_path: Path) -> None:
    assert_says(tmp_path, empty_postgres_url, ENGINE, ["worker"], Exit.NOT_READY, "validator db upgrade")


def test_a_worker_before_its_validator_says_so(postgres_url: str, tmp_path: Path) -> None:
    assert_says(tmp_path, postgres_url, ENGINE, ["worker"], Exit.NOT_READY, "start the validator with")


def test_a_worker_without_the_extra_says_how_to_get_it(postgres_url: str, tmp_path: Path) -> None:
    assert_says(tmp_path, postgres_url, ENGINE, ["worker"], Exit.NOT_READY, "sssa-validator[scale]", without=True)


def test_the_validator_without_the_extra_says_how_to_get_it(postgres_url: str, tmp_path: Path) -> None:
    chain = f'[chain]\nkind = "simulated"\nstate = "{tmp_path}/chain.json"\n'
    settings = f'[queue]\nbackend = "postgres"\n[wallet]\nuri = "//Alice"\n{chain}'
    (tmp_path / "tasks").mkdir()
    assert_says(tmp_path, postgres_url, settings, ["run"], Exit.NOT_READY, "sssa-validator[scale]", without=True)


def test_a_queue_on_sqlite_is_a_fault_of_the_settings(sqlite_url: str, tmp_path: Path) -> None:
    settings = '[queue]\nbackend = "postgres"\n'
    assert_says(tmp_path, sqlite_url, settings, ["run"], Exit.INPUT, 'queue.backend: "postgres" needs')


def assert_says(  # noqa: PLR0913, PLR0917 - one command and what it says
    folder: Path, url: str, settings: str, arguments: list[str], code: int, line: str, *, without: bool = False
) -> None:
    config = folder / "validator.toml"
    config.write_text(f'[validator]\nnetuid = 1\n[store]\nurl = "{url}"\n{settings}')
    words = [*arguments, "--config", str(config)]
    if without:
        command = [sys.executable, "-c", WITHOUT_THE_EXTRA, *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, cwd=folder)
    else:
        done = ran(*words, cwd=folder)
    assert (done.returncode, line in done.stderr) == (code, True), done.stderr
    assert "Traceback" not in done.stderr
