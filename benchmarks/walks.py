"""Length of a command's way through the source: files and functions that run, moves from one file to another.

What runs while a module is loaded does not count, nor does a comprehension, which runs in its function from
Python 3.12 on. A move is a call of a function in another file of the tree than that of the function called before.
`PYTHONPATH=.:tests/core:tests python benchmarks/walks.py` prints them for `explain` and others; with `--files` also
the files and how many of their functions ran.
"""

import asyncio
import contextlib
import io
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final, NamedTuple

ROOT: Final = Path(__file__).parents[1]
ROOMS: Final = tuple(f"{ROOT}/{room}/" for room in ("validator", "sssa", "publisher", "taskmaker", "localnet", "miner"))
_MINERS: Final = 6
_ROUNDS: Final = 3
_COMPREHENSIONS: Final = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>"})
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
        if (
            event != "call"
            or not code.co_flags & _NEW_LOCALS
            or code.co_name in _COMPREHENSIONS
            or not code.co_filename.startswith(ROOMS)
            or _is_loading(frame)
        ):
            return
        self.seen.add(code)
        self.moves += self._before is not None and code.co_filename != self._before
        self._before = code.co_filename

    @property
    def walk(self) -> Walk:
        """The record."""
        return Walk(len({code.co_filename for code in self.seen}), len(self.seen), self.moves)

    @property
    def files(self) -> list[tuple[str, int]]:
        """Number of functions that ran in each file of the tree, by its name."""
        return sorted(Counter(code.co_filename.removeprefix(f"{ROOT}/") for code in self.seen).items())


def _is_loading(frame: FrameType | None) -> bool:
    """Return whether a module of the tree that is being loaded called this."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(ROOMS):
            return True
        frame = frame.f_back
    return False


def walked(arguments: Sequence[str]) -> Walker:
    """Run a command in this process; return what it ran."""
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
    return walker


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
        walker = walked(sys.argv[2:])
        print(json.dumps([*walker.walk, walker.files]))
        return
    with tempfile.TemporaryDirectory(prefix="walks") as name:
        round_id, uid = asyncio.run(_played(Path(name)))
        for arguments in (("explain", uid, "--round", round_id), ("replay", round_id), ("explain", uid)):
            command = [sys.executable, __file__, "--walk", *arguments, "--config", f"{name}/validator.toml"]
            printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
            *walk, files = json.loads(printed.splitlines()[-1])
            print(f"{' '.join(arguments):22}", *walk)
            for file, functions in files if sys.argv[1:] == ["--files"] else ():
                print(f"{functions:4} {file}")


if __name__ == "__main__":
    main()
