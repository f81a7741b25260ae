"""Length of a command's way through the source: files and functions that run, moves from one file to another.

Modules and classes that are only loaded do not count. A move is a call of a function in another file of the tree than
that of the function called before. `python benchmarks/walks.py` prints them for `explain` and others.
"""

import asyncio
import contextlib
import io
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final, NamedTuple

ROOT: Final = Path(__file__).parents[1]
ROOMS: Final = tuple(f"{ROOT}/{room}/" for room in ("validator", "localnet", "miner"))
_MINERS: Final = 6
_ROUNDS: Final = 3
_NEW_LOCALS: Final = 0x2  # of a code object: a function's; a module's and a class's have it not


class Walk(NamedTuple):
    """Record of the code that a command ran."""

    files: int
    functions: int
    moves: int


class Walker:
    """A profile function that notes every call of a function in the tree."""

    def __init__(self) -> None:
        self.seen: set[CodeType] = set()
        self.moves = 0
        self._before: str | None = None

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> None:
        """Take note of a call."""
        code = frame.f_code
        if event != "call" or not code.co_flags & _NEW_LOCALS or not code.co_filename.startswith(ROOMS):
            return
        self.seen.add(code)
        self.moves += self._before is not None and code.co_filename != self._before
        self._before = code.co_filename

    @property
    def walk(self) -> Walk:
        """The record."""
        return Walk(len({code.co_filename for code in self.seen}), len(self.seen), self.moves)


def walked(arguments: Sequence[str]) -> Walk:
    """Run a command in this process; return its walk."""
    from validator.cli import main  # noqa: PLC0415 - a process of its own for each command

    walker = Walker()
    sys.argv = ["validator", *arguments]
    with contextlib.redirect_stdout(io.StringIO()):
        sys.setprofile(walker)
        try:
            main()
        except SystemExit as end:
            if end.code:
                raise
        finally:
            sys.setprofile(None)
    return walker.walk


async def _played(folder: Path) -> tuple[str, str]:
    """Play rounds of two tasks of every type; return the newest one, and the uid of a miner that answered it."""
    from world import World, on_virtual_time, tasks_of_all_types  # noqa: PLC0415 - of tests/core

    from validator.store import open_store  # noqa: PLC0415 - not where a command is walked
    from validator.tasks.source import MemorySource  # noqa: PLC0415

    url = f"sqlite:///{folder}/store.sqlite"
    settings = {
        "validator": "netuid = 1",
        "wallet": 'uri = "//Validator"',
        "chain": f'kind = "simulated"\nstate = "{folder}/chain.json"',
        "store": f'url = "{url}"',
    }
    written = "".join(f"[{name}]\n{lines}\n" for name, lines in settings.items())
    (folder / "validator.toml").write_text(written)
    async with open_store(url, create=True) as store:
        world = World(store, miners=_MINERS, source=MemorySource(tasks_of_all_types()))
        for _ in range(_ROUNDS):
            await on_virtual_time(world, world.service.one_round())
    return str(_ROUNDS - 1), "1"


def main() -> None:
    """Print the walks of the commands that look at one answer, one round and one miner."""
    if sys.argv[1:2] == ["--walk"]:
        print(json.dumps(walked(sys.argv[2:])))
        return
    with tempfile.TemporaryDirectory(prefix="walks") as name:
        round_id, uid = asyncio.run(_played(Path(name)))
        for arguments in (("explain", uid, "--round", round_id), ("replay", round_id), ("explain", uid)):
            command = [sys.executable, __file__, "--walk", *arguments, "--config", f"{name}/validator.toml"]
            found = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
            print(f"{' '.join(arguments):22}", *json.loads(found.splitlines()[-1]))


if __name__ == "__main__":
    main()
