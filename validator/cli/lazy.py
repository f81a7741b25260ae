"""A tree of commands that are names and lines of help until somebody enters one: only then its module is imported."""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from validator.protocol.errors import ValidatorError

JOINED: Final = "validator.commands"  # entry points; each is a function or a typer.Typer
_NEEDED: Final = {"miner": "runner/ and miner/", "localnet": "runner/, miner/ and localnet/"}


class NotInstalledError(ValidatorError):
    """The command belongs to a distribution that is not installed."""


class Lazy(TyperCommand):
    """A command that is not imported yet.

    Args:
        name: what calls it.
        text: its help, as far as a list of commands shows it.
        place: `module:function`, or the folder of the distribution whose entry point it is: `miner`.
        entry: the entry point's name, `tasks.draft` for a command of a group; None if that is the command's own.
    """

    def __init__(self, name: str, text: str, place: str, *, entry: str | None = None) -> None:
        super().__init__(name, help=text, rich_markup_mode=None)
        self.place = place
        self.entry = entry or name

    def load(self) -> Any:
        """Import the command and return it.

        Raises:
            NotInstalledError: with advice.
        """
        return _command(str(self.name), _found(self.place) if ":" in self.place else _joined(self.entry, self.place))


class Group(TyperGroup):
    """Commands under one name.

    Args:
        name: what they are called by.
        text: help.
        commands: in the order of the list.
        options: of the group itself.
    """

    def __init__(self, name: str, text: str, commands: Sequence[Any], options: Sequence[Any] = ()) -> None:
        super().__init__(
            name=name,
            help=text,
            commands=commands,
            params=list(options),
            no_args_is_help=True,
            rich_markup_mode=None,
        )

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Find the command that `args` begins with and import it."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, loaded(command), rest


def loaded(command: Any) -> Any:
    """Return the command itself, imported where it was not.

    Raises:
        NotInstalledError: it is not there.
    """
    return command.load() if isinstance(command, Lazy) else command


@contextmanager
def _uncollected() -> Iterator[None]:
    """Look for no garbage meanwhile: imports make many objects, all to stay, and a look at them costs a quarter."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def when_named(package: str) -> Callable[[str], ModuleType]:
    """Return a `__getattr__` for a package of commands' work: it imports a module of it when something names that.

    Until then the command is its options alone, which is all that its help needs.
    """

    def module(name: str) -> ModuleType:
        whole = f"{package}.{name}"
        try:
            with _uncollected():
                return import_module(whole)
        except ModuleNotFoundError as error:
            if error.name != whole:
                raise
            raise AttributeError(f"{package} has no module {name}") from None

    return module


def _found(place: str) -> Any:
    module, _, function = place.partition(":")
    with _uncollected():
        return getattr(import_module(module), function)


def _joined(name: str, folder: str) -> Any:
    from importlib.metadata import entry_points  # noqa: PLC0415 - takes longer than to list all commands

    for entry in entry_points(group=JOINED, name=name):
        with _uncollected():
            return entry.load()
    raise NotInstalledError(
        f"`validator {name.replace('.', ' ')}` comes with sssa-{folder}: run `make setup` in a clone, or install the "
        f"distributions of {_NEEDED[folder]} next to the validator, with the packages of requirements/miner.txt"
    )


def _command(name: str, target: Any) -> Any:
    parent = typer.Typer(add_completion=False, rich_markup_mode=None)
    parent.callback()(lambda: None)
    if isinstance(target, typer.Typer):
        parent.add_typer(target, name=name)
    else:
        parent.command(name)(target)
    group: Any = typer.main.get_command(parent)
    return group.commands[name]
