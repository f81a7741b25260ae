"""Commands of the local network: a distribution of its own, which joins by entry point.

Until one of them is called, it is a name and a line of help: the distribution may not be installed, and looking for it
would slow down every other command.
"""

from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from validator.protocol.errors import ValidatorError

GROUP: Final = "validator.commands"  # of entry points; each is a function or a typer.Typer
DISTRIBUTION: Final = "sssa-localnet"
HELP: Final = {
    "devnet": "Run simulated chain, local miners and the real validator together; then print what came of it.",
    "miner": "Reference miners for local networks.",
}


class NotInstalledError(ValidatorError):
    """The local network is not installed."""


class Joined(TyperCommand):
    """A command of the local network; `HELP` says which there are, and nothing else that joins is loaded."""

    def load(self) -> Any:
        """Return the command itself.

        Raises:
            NotInstalledError: with advice.
        """
        from importlib.metadata import entry_points

        for entry in entry_points(group=GROUP, name=self.name or ""):
            return _command(str(self.name), entry.load())
        raise NotInstalledError(
            f"`validator {self.name}` comes with {DISTRIBUTION}: run `make setup` in a clone, or install requirements/"
            "localnet.txt and localnet/ beside the validator"
        )


class Tree(TyperGroup):
    """The commands of the validator, and the names of those that join."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, text in HELP.items():
            self.add_command(Joined(name, help=text, rich_markup_mode=None))

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Find the command that `args` begins with; one that joins is loaded now."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, loaded(command), rest


def loaded(command: Any) -> Any:
    """Return the command; one that joins is loaded.

    Raises:
        NotInstalledError: it is not there.
    """
    return command.load() if isinstance(command, Joined) else command


def _command(name: str, target: Any) -> Any:
    parent = typer.Typer(add_completion=False, rich_markup_mode=None)
    parent.callback()(lambda: None)
    if isinstance(target, typer.Typer):
        parent.add_typer(target, name=name)
    else:
        parent.command(name)(target)
    group: Any = typer.main.get_command(parent)
    return group.commands[name]
