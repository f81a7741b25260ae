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
COMPLETE: Final = "--complete"  # asked by the scripts of `completion.py`
JOINED: Final = "validator.commands"  # entry points; each is a function or a typer.Typer
_NEEDED: Final = {
    "sssa-laboratory": "laboratory/",
    "sssa-localnet": "runner/, miner/ and localnet/",
    "sssa-miner": "runner/ and miner/",
}


class NotInstalledError(ValidatorError):
    """The distribution of this command is not installed."""


class Sections(TyperGroup):
    """A group whose help has a section of commands for each `rich_help_panel`."""

    def format_commands(self, _: Any, formatter: Any) -> None:
        """Write the commands by section, those without one first."""
        limit = formatter.width - 6 - max(map(len, self.commands))
        by_section: dict[str, list[tuple[str, str]]] = {}
        for name, command in self.commands.items():
            section = section_of(command)
            title = "Commands" if section is None else section
            by_section.setdefault(title, []).append((name, command.get_short_help_str(limit)))
        for title, rows in sorted(by_section.items(), key=lambda section: section[0] != "Commands"):
            with formatter.section(title):
                formatter.write_dl(rows)


def section_of(command: Any) -> str | None:
    """Return the section of a command in the help of its group; None for the usual one."""
    return command.rich_help_panel if isinstance(command.rich_help_panel, str) else None


class Page(Sections):
    """The help of a command or a group, as the index has it; the commands of the group are not imported."""

    def __init__(self, index: Mapping[str, Any], path: str) -> None:
        self._node = index[path]
        below = [name for name in index if name and name.rpartition(" ")[0] == path]
        super().__init__(
            help=self._node["help"],
            commands=[
                TyperCommand(
                    name.rpartition(" ")[2],
                    help=index[name]["help"],
                    rich_markup_mode=None,
                    rich_help_panel=index[name].get("section"),
                )
                for name in below
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
        if self.commands:
            self.format_commands(ctx, formatter)


def start(words: Sequence[str]) -> int:
    """Run the command that `words` name, or show help; return the exit code, or exit.

    Raises:
        NotInstalledError: the command belongs to a distribution that is not installed.
        TyperException: the words are no call of a command.
    """
    index: Mapping[str, Any] = json.loads(INDEX.read_bytes())
    if words[:1] == [COMPLETE]:
        for candidate in candidates(index, words[1:]):
            typer.echo(candidate)
        return 0
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
    else:
        command = command_of(_imported(node["place"]), words[depth - 1]) if "place" in node else Page(index, path)
        ended = command.main(rest, prog_name=name, standalone_mode=False)
        return ended if isinstance(ended, int) else 0
    return 0


def candidates(index: Mapping[str, Any], words: Sequence[str]) -> Iterator[str]:
    """Yield what may be in the place of the last word: commands, or options; nothing where a value does."""
    *before, last = words or [""]
    depth = next(many for many in range(len(before), -1, -1) if " ".join(before[:many]) in index)
    path = " ".join(before[:depth])
    rows = [row for row, _ in index[path]["parameters"].get("Options", ())]
    if before[depth:] and any(" " in row and before[-1] in _names(row) for row in rows):
        return
    names = [name for row in rows for name in _names(row)] if last.startswith("-") else []
    if not last.startswith("-") and not before[depth:]:
        names = [name.rpartition(" ")[2] for name in index if name and name.rpartition(" ")[0] == path]
    yield from (name for name in names if name.startswith(last))


def _names(row: str) -> list[str]:
    """Return the names of an option from its line of help."""
    return [word.strip(",") for word in row.replace(" / ", " ").split() if word.startswith("--")]


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
