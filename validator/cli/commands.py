"""The commands by name, each with its line of help. The module of a command is imported when the command is called.

Commands of other distributions join by entry points of the group `validator.commands`.
"""

import gc
from importlib import import_module
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand

from validator import __version__
from validator.protocol.errors import ValidatorError

JOINED: Final = "validator.commands"
# Words after `validator`; the line in the help above it, which is the help of a group; where in `validator.cli` the
# function or the app is, or the distribution that brings it.
COMMANDS: Final = (
    ("init", "Write validator.toml and .env.", "setup:init"),
    ("run", "Run the validator until SIGTERM.", "service:run"),
    ("drain", "Let the running validator finish its round and end.", "drain:drain"),
    ("worker", "Do what waits in the queue: executions and code.", "service:worker"),
    ("serve", "Serve the read-only API and the pages.", "sssa-validator"),
    ("replay", "Compute rounds again and compare byte for byte.", "replay:replay"),
    ("explain", "Explain a miner's last rounds, or one of them.", "explain:explain"),
    ("doctor", "Look at everything that the validator needs.", "doctor:doctor"),
    ("status", "Show one validator on one screen.", "status:status"),
    ("health", "Ask /readyz of the running validator.", "health:health"),
    ("rounds", "Rounds: who got which task, and the results.", "rounds:ROUNDS"),
    ("neurons", "Everyone ever seen on the subnet: scores and faults.", "neurons:NEURONS"),
    ("flags", "Collusion flags, three of which eject a miner.", "flags:FLAGS"),
    ("waiting", "Executions and code checks, made after their round.", "waiting:WAITING"),
    ("wallet", "Wallet: the hotkey's file where a container reads it.", "setup:WALLET"),
    ("weights", "Weights on the chain.", "weights:WEIGHTS"),
    ("tasks", "Tasks: bundles with what is known of them; workflows.", "sssa-validator"),
    ("tasks draft", "Draft the truth of a packed task.", "sssa-miner"),
    ("audit", "The log of receipts: export it, verify an export.", "audit:AUDIT"),
    ("proof", "Consensus proofs: what a group or a debate agreed on.", "stored_proofs:PROOF"),
    ("attestation", "Attestations: a validator's signed answer about a skill.", "sssa-validator"),
    ("db", "The store's tables.", "db:DB"),
    ("score", "Recompute a number from a vector of the specification.", "score:score"),
    ("groups", "Verification groups of the specification's vectors.", "score:GROUPS"),
    ("devnet", "Run a simulated chain, local miners and the validator.", "sssa-localnet"),
    ("localnet", "Whole local networks on a node of the chain.", "sssa-localnet"),
    ("miner", "Reference miners for local networks; a template, a check.", "sssa-miner"),
    ("simulate", "Networks without I/O, on the rules of a scoring version.", "sssa-laboratory"),
)


class NotInstalledError(ValidatorError):
    """The distribution of this command is not installed."""


class LazyCommand(TyperCommand):
    """A command or a group that is imported when it is called or completed; it is a row of `COMMANDS`."""

    def __init__(self, path: str, line: str, place: str) -> None:
        super().__init__(path.rpartition(" ")[2], help=line, rich_markup_mode=None)
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
            command = _with_rows(typer.main.get_group(target), self.path)
            command.name, command.help = self.name, self.help
            return command
        app = typer.Typer(rich_markup_mode=None, add_completion=False)
        app.command(self.name)(target)
        return typer.main.get_command(app)

    def _target(self) -> Any:
        module, colon, name = self.place.partition(":")
        if colon:
            return getattr(import_module(f"validator.cli.{module}"), name)
        from importlib.metadata import entry_points  # noqa: PLC0415 - takes longer than to show the help

        for entry in entry_points(group=JOINED, name=self.path.replace(" ", ".")):
            return entry.load()
        raise NotInstalledError(
            f"`validator {self.path}` comes with {self.place}: run `make setup` in a clone, or install its wheel and "
            "those that it requires next to the validator, with the packages of requirements/miner.txt"
        )


def root() -> Any:
    """Return `validator` itself, a group that imports none of its commands."""
    app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
    app.callback()(_itself)
    return _with_rows(typer.main.get_command(app), "")


def _with_rows(parent: Any, path: str) -> Any:
    """Add to a group the commands that are one word below it."""
    for row in COMMANDS:
        if row[0].rpartition(" ")[0] == path:
            parent.add_command(LazyCommand(*row))
    return parent


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(__version__)
        raise typer.Exit


def _itself(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """Scores Signed Skill Safety Attestations and sets weights on a Bittensor subnet."""
