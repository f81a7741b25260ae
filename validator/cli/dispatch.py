"""Start of a command: the index answers help and typing errors; only the command that runs is imported.

`index.json` has a line for every command and group: its help, its options, its place in the code. It is made from the
declarations (`tree.py`) by `make reference`; a test holds it.
"""

import gc
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from validator import __version__
from validator.protocol.errors import ValidatorError

INDEX: Final = Path(__file__).with_name("index.json")
JOINED: Final = "validator.commands"  # entry points; each is a function or a typer.Typer
_NEEDED: Final = {
    "sssa-laboratory": "laboratory/",
    "sssa-localnet": "runner/, miner/ and localnet/",
    "sssa-miner": "runner/ and miner/",
}


class NotInstalledError(ValidatorError):
    """The distribution of this command is not installed."""


class Page(TyperGroup):
    """The help of a command or a group, as the index has it; the commands of the group are not imported."""

    def __init__(self, index: Mapping[str, Any], path: str) -> None:
        self._node = index[path]
        below = [name for name in index if name and name.rpartition(" ")[0] == path]
        super().__init__(
            help=self._node["help"],
            commands=[
                TyperCommand(name.rpartition(" ")[2], help=index[name]["help"], rich_markup_mode=None) for name in below
            ],
            options_metavar=None,
            subcommand_metavar=self._node["usage"],
            no_args_is_help=True,
            rich_markup_mode=None,
        )

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, options and commands."""
        for title, rows in self._node["parameters"].items():
            with formatter.section(title):
                formatter.write_dl([tuple(row) for row in rows])
        self.format_commands(ctx, formatter)


def start(words: Sequence[str]) -> int:
    """Run the command that `words` name, or show help, or what is wrong with the words; return 0 or exit.

    Raises:
        NotInstalledError: the command belongs to a distribution that is not installed.
    """
    index: Mapping[str, Any] = json.loads(INDEX.read_bytes())
    depth = next(many for many in range(len(words), -1, -1) if " ".join(words[:many]) in index)
    path, rest = " ".join(words[:depth]), list(words[depth:])
    node, name = index[path], f"validator {path}".rstrip()
    if "entry" in node:
        _require_installed(node, name)
    if rest == ["--help"]:
        page = Page(index, path)
        typer.echo(page.get_help(typer.Context(page, info_name=name)))
    elif rest[:1] == ["--version"] and not path:
        typer.echo(__version__)
    elif "place" in node:
        command_of(_imported(node["place"]), words[depth - 1]).main(rest, prog_name=name)
    else:
        Page(index, path).main(rest, prog_name=name)
    return 0


def _require_installed(node: Mapping[str, Any], name: str) -> None:
    from importlib.metadata import entry_points  # noqa: PLC0415 - takes longer than to show a page

    if not entry_points(group=JOINED, name=node["entry"]):
        raise NotInstalledError(
            f"`{name}` comes with {node['distribution']}: run `make setup` in a clone, or install the distributions of "
            f"{_NEEDED[node['distribution']]} next to the validator, with the packages of requirements/miner.txt"
        )


def _imported(place: str) -> Any:
    module, _, name = place.partition(":")
    with without_collection():
        return getattr(import_module(module), name)


def command_of(target: Any, name: str) -> Any:
    """Return a function with options, or an app, as a command."""
    parent = typer.Typer(add_completion=False, rich_markup_mode=None)
    parent.callback()(lambda: None)
    if isinstance(target, typer.Typer):
        parent.add_typer(target, name=name)
    else:
        parent.command(name)(target)
    group: Any = typer.main.get_command(parent)
    return group.commands[name]


@contextmanager
def without_collection() -> Iterator[None]:
    """Suspend garbage collection: imports make many objects that all stay; collecting meanwhile takes a quarter."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
