"""Commands that are imported when they are called, so that a program shows its help at once."""

import gc
from collections.abc import Callable
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperCommand

from sssa.protocol.errors import ValidatorError


class Rows(NamedTuple):
    """The commands of a program.

    Attributes:
        program: its name.
        group: entry points of commands that other distributions bring.
        rows: words after the program's name; the line in the help above, which is the help of a group; the module and
            name of the function or app, or the distribution that brings it.
    """

    program: str
    group: str
    rows: tuple[tuple[str, str, str], ...]


class NotInstalledError(ValidatorError):
    """The distribution of this command is not installed."""


class LazyCommand(TyperCommand):
    """A command or a group that is imported when it is called or completed; it is a row of its program's commands."""

    def __init__(self, rows: "Rows", path: str, line: str, place: str) -> None:
        super().__init__(path.rpartition(" ")[2], help=line, rich_markup_mode=None)
        self.rows = rows
        self.path = path
        self.place = place

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Begin the command itself (NotInstalledError: its distribution is not installed)."""
        return self.load().make_context(info_name, args, parent, **extra)

    def load(self) -> Any:
        """Return the command itself; raises as `make_context`."""
        gc.disable()  # what is imported stays: to look for garbage in it takes a quarter of the time
        try:
            target = self._target()
        finally:
            gc.enable()
        if isinstance(target, typer.Typer):
            command = with_rows(typer.main.get_group(target), self.rows, self.path)
            command.name, command.help = self.name, self.help
            return command
        app = typer.Typer(rich_markup_mode=None, add_completion=False)
        app.command(self.name)(target)
        return typer.main.get_command(app)

    def _target(self) -> Any:
        module, colon, name = self.place.partition(":")
        if colon:
            return getattr(import_module(module), name)
        from importlib.metadata import entry_points  # noqa: PLC0415 - takes longer than to show the help

        for entry in entry_points(group=self.rows.group, name=self.path.replace(" ", ".")):
            return entry.load()
        raise NotInstalledError(
            f"`{self.rows.program} {self.path}` comes with {self.place}: run `make setup` in a clone, or install its "
            "wheel and those that it requires next to the validator, with the packages of requirements/miner.txt"
        )


def with_rows(parent: Any, rows: Rows, path: str = "") -> Any:
    """Add to a group the commands that are one word below it."""
    for row in rows.rows:
        if row[0].rpartition(" ")[0] == path:
            parent.add_command(LazyCommand(rows, *row))
    return parent


def program(rows: Rows, about: str, version: Callable[[], str]) -> Any:
    """Return a program, a group that imports none of its commands; `about` is its help, `version` its version."""

    def print_version(is_wanted: bool) -> None:
        if is_wanted:
            typer.echo(version())
            raise typer.Exit

    def itself(
        _version: Annotated[
            bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version and end.")
        ] = False,
    ) -> None:
        pass

    app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
    app.callback(help=about)(itself)
    return with_rows(typer.main.get_command(app), rows)
