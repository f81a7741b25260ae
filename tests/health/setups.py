"""Set-ups with one fault each, that exist before a start: what an operator can have got wrong."""

import resource
import socket
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from doctor_kit import ME, Place
from task_builders import make_task, make_truth, write_task
from wallet_files import ENCRYPTED, write_hotkey

from validator.planting.shapes import builtin_shapes
from validator.protocol.round import Axon
from validator.protocol.signatures import Signer
from validator.protocol.skill_types import SkillType
from validator.sources import SeededRandom
from validator.store import open_store
from validator.store.log import open_log
from validator.tasks.seeding import Seeding, base_of, seeded, write_seeded

NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
Break = Callable[[Place], None]
Opened = Callable[[Place], AbstractAsyncContextManager[None]]


def typo(place: Place) -> None:
    place.settings["rounds"] = {"intervall_s": 5}


def no_netuid(place: Place) -> None:
    place.settings["validator"] = {}


def one_underscore(place: Place) -> None:
    place.environ["VALIDATOR_STORE_URL"] = "sqlite:////tmp/x.sqlite"


def no_section(place: Place) -> None:
    place.environ["VALIDATOR_NETUID"] = "3"


def stranger(place: Place) -> None:
    place.environ["VALIDATOR_STORE_URI"] = "x"


def password_in_the_open(place: Place) -> None:
    place.settings["store"]["url"] = "postgresql://v:hunter2@127.0.0.1:1/v"
    place.write().chmod(0o644)


def token_in_the_open(place: Place) -> None:
    place.settings["health"]["token"] = "hunter2hunter2hunter2"
    place.write().chmod(0o644)


def no_home(place: Place) -> None:
    place.settings["wallet"]["path"] = "~nobody-of-this-name/wallets"


def unknown_version(place: Place) -> None:
    place.settings["scoring"] = {"schedule": {}}
    place.environ["VALIDATOR_SCORING__SCHEDULE"] = '{"9.9.9": 0}'
    del place.settings["scoring"]


def key_file(place: Place) -> Path:
    return place.folder / "wallets" / "default" / "hotkeys" / "default"


def other_hotkey(place: Place) -> None:
    write_hotkey(place.folder / "wallets", ME, hotkey="second")
    key_file(place).unlink()


def no_wallets(place: Place) -> None:
    place.settings["wallet"]["path"] = f"{place.folder}/nowhere"


def encrypted(place: Place) -> None:
    key_file(place).write_bytes(ENCRYPTED.read_bytes())


def open_password(place: Place) -> None:
    encrypted(place)
    password = place.folder / "password"
    password.write_text("hunter2")
    password.chmod(0o644)
    place.settings["wallet"]["password_file"] = str(password)


def needless_password(place: Place) -> None:
    place.settings["wallet"]["password_file"] = f"{place.folder}/password"


def damaged(place: Place) -> None:
    key_file(place).write_text("{}")


def for_everybody(place: Place) -> None:
    key_file(place).chmod(0o644)


def no_folder(place: Place) -> None:
    (place.folder / "tasks").rmdir()


def broken_task(place: Place) -> None:
    (place.folder / "tasks" / "bad").mkdir()
    (place.folder / "tasks" / "bad" / "task.json").write_text("{")


def no_bases(place: Place) -> None:
    place.settings["tasks"]["bases"] = f"{place.folder}/bases"


def bad_base(place: Place) -> None:
    no_bases(place)
    write_task(place.folder / "bases" / "good", make_task())
    write_task(place.folder / "bases" / "bad", make_task(truth=make_truth(verdict="BLOCK")))


def bad_shape(place: Place) -> None:
    (place.folder / "own").mkdir()
    (place.folder / "own" / "mine.shape").write_text(
        '+++\nfamily = "secret"\ndifficulty = "easy"\n+++\n\n=== shell\necho\n'
    )
    place.settings["tasks"]["shapes"] = f"{place.folder}/own"


def packed_tasks(place: Place) -> None:
    """Ordinary tasks of two types straight from a packing, next to one with a truth and to seeded ones."""
    write_task(place.folder / "tasks" / "packed", make_task())
    write_task(place.folder / "tasks" / "true", make_task({"SKILL.md": b"# True\n"}, truth=make_truth()))
    write_task(place.folder / "tasks" / "server", make_task(skill_type=SkillType.MCP_SERVER))
    seeded_tasks(place)


def packed_tasks_under_2(place: Place) -> None:
    packed_tasks(place)
    place.environ["VALIDATOR_SCORING__SCHEDULE"] = '{"1.0.0": 0, "2.0.0": 4000}'


def uncurated_tasks_under_2(place: Place) -> None:
    write_task(place.folder / "tasks" / "library", make_task(truth=make_truth(verdict="BLOCK")))
    place.environ["VALIDATOR_SCORING__SCHEDULE"] = '{"2.0.0": 0}'


def seeded_tasks(place: Place) -> None:
    base = base_of(make_task({"SKILL.md": b"# Sum\n\nSum the numbers.\n\nThen say the sum.\n"}), "sum")
    for _ in write_seeded(seeded(base, Seeding("word", 1, builtin_shapes(), 2)), place.folder / "tasks" / "seeded"):
        pass


def seeded_tasks_under_2(place: Place) -> None:
    seeded_tasks(place)
    place.environ["VALIDATOR_SCORING__SCHEDULE"] = '{"2.0.0": 0}'


def nothing(_: Place) -> None:
    """As it was made: a folder without tasks."""


def junk_for_a_bundle(place: Place) -> None:
    write_task(place.folder / "tasks" / "junk", make_task())
    (place.folder / "tasks" / "junk" / "bundle.tar.gz").write_bytes(b"junk")


def blank_behind_the_url(place: Place) -> None:
    place.settings["store"]["url"] += " "


def lower_case_variable(place: Place) -> None:
    place.environ["validator_rounds__interval_s"] = "1200"


def lower_case_stranger(place: Place) -> None:
    place.environ["validator_store_uri"] = "x"


def lower_case_without_section(place: Place) -> None:
    place.environ["validator_netuid"] = "3"


def store_folder_missing(place: Place) -> None:
    place.settings["store"]["url"] = f"sqlite:///{place.folder}/nowhere/validator.sqlite"


def store_is_text(place: Place) -> None:
    (place.folder / "validator.sqlite").write_text("no database at all, but long enough to be read as one " * 40)


def store_is_foreign(place: Place) -> None:
    with sqlite3.connect(place.folder / "validator.sqlite") as connection:
        connection.execute("CREATE TABLE theirs (n)")
    connection.close()


def unregistered(place: Place) -> None:
    place.subnet(registered=False)


def no_permit(place: Place) -> None:
    place.subnet(permit=False)


def low_stake(place: Place) -> None:
    place.subnet(stake=1.0, min_stake_tao=1000.0)


def too_old(place: Place) -> None:
    place.subnet(version_key=9_000_000)


def no_mechanism(place: Place) -> None:
    place.subnet()
    place.settings["weights"] = {"assessment_mechid": 7}


def chain_of_another_subnet(place: Place) -> None:
    place.subnet(netuid=5)


def chain_file_damaged(place: Place) -> None:
    (place.folder / "chain.json").write_text("{")


def no_chain_file_named(place: Place) -> None:
    del place.settings["chain"]["state"]


def stop_file(place: Place) -> None:
    stop = place.folder / "stop"
    stop.write_text("2026 another program\n")
    place.settings["weights"] = {"stop_file": str(stop)}


@asynccontextmanager
async def _a_store(place: Place) -> AsyncIterator[None]:
    async with open_store(place.settings["store"]["url"], writer=True, create=True):
        pass
    yield


@asynccontextmanager
async def store_of_another_netuid(place: Place) -> AsyncIterator[None]:
    async with open_store(place.settings["store"]["url"], writer=True, create=True) as store, store.begin() as tx:
        await tx.chain.adopt("11" * 32, 7, NOW)
    yield


@asynccontextmanager
async def store_of_another_genesis(place: Place) -> AsyncIterator[None]:
    place.subnet()
    async with open_store(place.settings["store"]["url"], writer=True, create=True) as store, store.begin() as tx:
        await tx.chain.adopt("11" * 32, 1, NOW)
    yield


@asynccontextmanager
async def store_of_another_hotkey(place: Place) -> AsyncIterator[None]:
    place.subnet()
    async with open_store(place.settings["store"]["url"], writer=True, create=True) as store, store.begin() as tx:
        await open_log(tx, Signer.from_uri("//Before"), NOW, SeededRandom("log"), 0)
    yield


@asynccontextmanager
async def weights_locked(place: Place) -> AsyncIterator[None]:
    async with open_store(place.settings["store"]["url"], writer=True, create=True) as store, store.begin() as tx:
        await tx.weight_guard.lock("another program wrote at block 7", NOW)
    yield


@asynccontextmanager
async def newer_tables(place: Place) -> AsyncIterator[None]:
    async with _a_store(place):
        with sqlite3.connect(place.folder / "validator.sqlite") as connection:
            connection.execute("UPDATE schema_version SET version_num = 'r9999'")
        connection.close()
        yield


@asynccontextmanager
async def another_writer(place: Place) -> AsyncIterator[None]:
    async with open_store(place.settings["store"]["url"], writer=True, create=True):
        yield


@asynccontextmanager
async def port_taken(place: Place) -> AsyncIterator[None]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        place.settings["health"] = {"port": server.getsockname()[1]}
        yield


@asynccontextmanager
async def task_server_away(place: Place) -> AsyncIterator[None]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    place.settings["tasks"] |= {"server_url": f"http://127.0.0.1:{port}", "server_hotkey": ME.hotkey}
    yield


@asynccontextmanager
async def nothing_at_the_endpoint(place: Place) -> AsyncIterator[None]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    place.on(f"ws://127.0.0.1:{port}")
    yield


@asynccontextmanager
async def few_descriptors(place: Place) -> AsyncIterator[None]:
    subnet = place.subnet()
    for number in range(6):
        subnet.register(Signer.from_uri(f"//Miner//{number}").hotkey, axon=Axon("10.0.0.1", 8091))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def no_engine_there(place: Place) -> None:
    place.settings["sandbox"] = {"engine": f"unix://{place.folder}/no.sock"}


@asynccontextmanager
async def opened(setup: Break | Opened, place: Place) -> AsyncIterator[None]:
    """Make the set-up, and end it."""
    manager = setup(place)
    if manager is None:
        yield
        return
    async with manager:
        yield


SETUPS: Final[tuple[Break | Opened, ...]] = (
    typo,
    no_netuid,
    one_underscore,
    no_section,
    stranger,
    password_in_the_open,
    token_in_the_open,
    no_home,
    unknown_version,
    other_hotkey,
    no_wallets,
    encrypted,
    open_password,
    needless_password,
    damaged,
    for_everybody,
    no_folder,
    broken_task,
    no_bases,
    bad_base,
    bad_shape,
    nothing,
    junk_for_a_bundle,
    blank_behind_the_url,
    lower_case_variable,
    lower_case_stranger,
    lower_case_without_section,
    store_folder_missing,
    store_is_text,
    store_is_foreign,
    unregistered,
    no_permit,
    low_stake,
    too_old,
    no_mechanism,
    chain_of_another_subnet,
    chain_file_damaged,
    no_chain_file_named,
    stop_file,
    no_engine_there,
    store_of_another_netuid,
    store_of_another_genesis,
    store_of_another_hotkey,
    weights_locked,
    newer_tables,
    another_writer,
    port_taken,
    task_server_away,
    nothing_at_the_endpoint,
    few_descriptors,
)
"""All of them; `nothing` has no fault but that there are no tasks."""

SLOW: Final = (task_server_away, nothing_at_the_endpoint, few_descriptors)
"""Set-ups with which two rounds take longer than any test should: they wait for time limits."""
