"""Every command, and what a command loads."""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from cli_store import environment

from sssa.cli.lazy_commands import LazyCommand
from validator.cli.commands import root

_LOOK = """
import io, json, os, sys
from validator.cli import main
for words in json.load(sys.stdin):
    if os.fork():
        os.wait()
        continue
    sys.argv, told, sys.stdout = ["validator", *words], sys.stdout, io.StringIO()
    try:
        main()
    except SystemExit as end:
        print(json.dumps([words, end.code or 0, sys.stdout.getvalue(), list(sys.modules)]), file=told, flush=True)
    os._exit(0)
"""


class Ran(NamedTuple):
    """A command that ended in a process that had loaded nothing but `main`: exit code, output, modules."""

    code: int
    output: str
    modules: frozenset[str]


def _loaded(command: Any) -> Any:
    """The command with all below it imported."""
    itself = command.load() if isinstance(command, LazyCommand) else command
    below = getattr(itself, "commands", {})
    below.update({name: _loaded(one) for name, one in below.items()})
    return itself


TREE = _loaded(root())


def commands(group: Any = TREE, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words of every command and group below a group."""
    for name, command in group.commands.items():
        yield (*path, name)
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))


def ran_alone(calls: Sequence[Sequence[str]]) -> dict[tuple[str, ...], Ran]:
    """Run commands, each in a fork of one process that has loaded nothing but `main`."""
    done = subprocess.run(
        [sys.executable, "-c", _LOOK],
        input=json.dumps(calls),
        capture_output=True,
        text=True,
        check=True,
        env=environment(),
    )
    assert done.stderr == ""
    told = map(json.loads, done.stdout.splitlines())
    return {tuple(words): Ran(code, output, frozenset(modules)) for words, code, output, modules in told}
