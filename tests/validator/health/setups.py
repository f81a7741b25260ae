"""Set-ups with one fault each, that exist before a start: what an operator can have got wrong."""

import resource
import socket
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from doctor_kit import ME, Place
from task_builders import make_task, make_truth, write_task
from wallet_files import ENCRYPTED, write_hotkey

from sssa.protocol.round import Axon
from sssa.protocol.signatures import Signer
from sssa.protocol.skill_types import SkillType
from sssa.sources import SeededRandom
from taskmaker.planting.shapes import builtin_shapes
from taskmaker.seeding import Seeding, base_of, seeded, write_seeded
from validator.store import Transaction, open_store
from validator.store.log import open_log

NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)
Break = Callable[[Place], object]
"""A set-up; one that returns a context manager lasts as long as that."""


def sets(section: str, **values: Any) -> Break:
    """Return a set-up with these settings; `{folder}` is the operator's."""

    def broken(place: Place) -> None:
        filled = {
            key: value.format(folder=place.folder) if isinstance(value, str) else value for key, value in values.items()
        }
        place.settings[section] = place.settings.get(section, {}) | filled

    return broken


def variable(name: str, value: str) -> Break:
    """Return a set-up with an environment variable."""
    return lambda place: place.environ.update({name: value})


def subnet(**rules: Any) -> Break:
    """Return a set-up with a simulated chain with these rules."""
    return lambda place: place.subnet(**rules)


def file(path: str, text: str) -> Break:
    """Return a set-up with this file in the operator's folder."""

    def broken(place: Place) -> None:
        (place.folder / path).parent.mkdir(exist_ok=True)
        (place.folder / path).write_text(text)

    return broken


def both(*breaks: Break) -> Break:
    """Return a set-up with several changes."""

    def broken(place: Place) -> None:
        for one in breaks:
            one(place)

    return broken


def open_to_others(place: Place) -> None:
    place.write().chmod(0o644)


def key_file(place: Place) -> Path:
    return place.folder / "wallets" / "default" / "hotkeys" / "default"


def other_hotkey(place: Place) -> None:
    write_hotkey(place.folder / "wallets", ME, hotkey="second")
    key_file(place).unlink()


def encrypted(place: Place) -> None:
    key_file(place).write_bytes(ENCRYPTED.read_bytes())


def open_password(place: Place) -> None:
    encrypted(place)
    password = place.folder / "password"
    password.write_text("hunter2")
    password.chmod(0o644)
    place.settings["wallet"]["password_file"] = str(password)


def bad_base(place: Place) -> None:
    place.settings["tasks"]["bases"] = f"{place.folder}/bases"
    write_task(place.folder / "bases" / "good", make_task())
    write_task(place.folder / "bases" / "bad", make_task(truth=make_truth(verdict="BLOCK")))


def packed_tasks(place: Place) -> None:
    """Ordinary tasks of two types straight from a packing, next to one with a truth and to seeded ones."""
    write_task(place.folder / "tasks" / "packed", make_task())
    write_task(place.folder / "tasks" / "true", make_task({"SKILL.md": b"# True\n"}, truth=make_truth()))
    write_task(place.folder / "tasks" / "server", make_task(skill_type=SkillType.MCP_SERVER))
    seeded_tasks(place)


def uncurated_task(place: Place) -> None:
    write_task(place.folder / "tasks" / "library", make_task(truth=make_truth(verdict="BLOCK")))


def seeded_tasks(place: Place) -> None:
    base = base_of(make_task({"SKILL.md": b"# Sum\n\nSum the numbers.\n\nThen say the sum.\n"}), "sum")
    for _ in write_seeded(seeded(base, Seeding("word", 1, builtin_shapes(), 2)), place.folder / "tasks" / "seeded"):
        pass


def junk_for_a_bundle(place: Place) -> None:
    write_task(place.folder / "tasks" / "junk", make_task())
    (place.folder / "tasks" / "junk" / "bundle.tar.gz").write_bytes(b"junk")


def foreign_tables(place: Place) -> None:
    with sqlite3.connect(place.folder / "validator.sqlite") as connection:
        connection.execute("CREATE TABLE theirs (n)")
    connection.close()


def store_with(change: Callable[[Transaction], Any]) -> Break:
    """Return a set-up with a chain, and a store to which something was written."""

    @asynccontextmanager
    async def broken(place: Place) -> AsyncIterator[None]:
        place.subnet()
        async with open_store(place.settings["store"]["url"], writer=True, create=True) as store, store.begin() as tx:
            await change(tx)
        yield

    return broken


@asynccontextmanager
async def newer_tables(place: Place) -> AsyncIterator[None]:
    async with open_store(place.settings["store"]["url"], writer=True, create=True):
        pass
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


def _closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


def task_server_away(place: Place) -> None:
    place.settings["tasks"] |= {"server_url": f"http://127.0.0.1:{_closed_port()}", "server_hotkey": ME.hotkey}


def nothing_at_the_endpoint(place: Place) -> None:
    place.on(f"ws://127.0.0.1:{_closed_port()}")


@asynccontextmanager
async def few_descriptors(place: Place) -> AsyncIterator[None]:
    chain = place.subnet()
    for number in range(6):
        chain.register(Signer.from_uri(f"//Miner//{number}").hotkey, axon=Axon("10.0.0.1", 8091))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@asynccontextmanager
async def opened(setup: Break, place: Place) -> AsyncIterator[None]:
    """Make the set-up, and end it."""
    made = setup(place)
    async with made if isinstance(made, AbstractAsyncContextManager) else nullcontext():
        yield


ONLY_2: Final = variable("VALIDATOR_SCORING__SCHEDULE", '{"2.0.0": 0}')
SHAPE: Final = '+++\nfamily = "secret"\ndifficulty = "easy"\n+++\n\n=== shell\necho\n'
FILE_SETUPS: Final[Mapping[str, Break]] = {
    "typo": sets("rounds", intervall_s=5),
    "no netuid": lambda place: place.settings["validator"].clear(),
    "one underscore": variable("VALIDATOR_STORE_URL", "sqlite:////tmp/x.sqlite"),
    "no section": variable("VALIDATOR_NETUID", "3"),
    "stranger": variable("VALIDATOR_STORE_URI", "x"),
    "password in the open": both(sets("store", url="postgresql://v:hunter2@127.0.0.1:1/v"), open_to_others),
    "token in the open": both(sets("health", token="hunter2hunter2hunter2"), open_to_others),
    "no home": sets("wallet", path="~nobody-of-this-name/wallets"),
    "unknown version": variable("VALIDATOR_SCORING__SCHEDULE", '{"9.9.9": 0}'),
    "other hotkey": other_hotkey,
    "no wallets": sets("wallet", path="{folder}/nowhere"),
    "encrypted": encrypted,
    "open password": open_password,
    "needless password": sets("wallet", password_file="{folder}/password"),
    "damaged": lambda place: key_file(place).write_text("{}"),
    "for everybody": lambda place: key_file(place).chmod(0o644),
    "no folder": lambda place: (place.folder / "tasks").rmdir(),
    "broken task": file("tasks/bad/task.json", "{"),
    "no bases": sets("tasks", bases="{folder}/bases"),
    "bad base": bad_base,
    "bad shape": both(file("own/mine.shape", SHAPE), sets("tasks", shapes="{folder}/own")),
    "no tasks": both(),
    "junk for a bundle": junk_for_a_bundle,
    "blank behind the url": sets("store", url="sqlite:///{folder}/validator.sqlite "),
    "lower-case variable": variable("validator_rounds__interval_s", "1200"),
    "lower-case stranger": variable("validator_store_uri", "x"),
    "lower-case without section": variable("validator_netuid", "3"),
    "store's folder missing": sets("store", url="sqlite:///{folder}/nowhere/validator.sqlite"),
    "store is text": file("validator.sqlite", "no database at all, but long enough to be read as one " * 40),
    "store is foreign": foreign_tables,
    "unregistered": subnet(registered=False),
    "no permit": subnet(permit=False),
    "low stake": subnet(stake=1.0, min_stake_tao=1000.0),
    "too old": subnet(version_key=9_000_000),
    "no mechanism": both(subnet(), sets("weights", assessment_mechid=7)),
    "chain of another subnet": subnet(netuid=5),
    "chain's file damaged": file("chain.json", "{"),
    "no chain's file named": lambda place: place.settings["chain"].pop("state"),
    "stop-file": both(file("stop", "2026 another program\n"), sets("weights", stop_file="{folder}/stop")),
    "no engine there": sets("sandbox", engine="unix://{folder}/no.sock"),
}
"""Faults of files and settings; `no tasks` has no fault but that."""
SLOW: Final[Mapping[str, Break]] = {
    "task server away": task_server_away,
    "nothing at the endpoint": nothing_at_the_endpoint,
    "few descriptors": few_descriptors,
}
"""Set-ups with which two rounds take longer than any test should: they wait for time limits."""
SETUPS: Final[Mapping[str, Break]] = {
    **FILE_SETUPS,
    "store of another netuid": store_with(lambda tx: tx.chain.adopt("11" * 32, 7, NOW)),
    "store of another genesis": store_with(lambda tx: tx.chain.adopt("11" * 32, 1, NOW)),
    "store of another hotkey": store_with(
        lambda tx: open_log(tx, Signer.from_uri("//Before"), NOW, SeededRandom("log"), 0)
    ),
    "weights locked": store_with(lambda tx: tx.weight_guard.lock("another program wrote at block 7", NOW)),
    "newer tables": newer_tables,
    "another writer": another_writer,
    "port taken": port_taken,
    **SLOW,
}
