"""The whole command line from its declarations, for the index, the reference and the tests; no command runs it."""

from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import entry_points
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from validator.cli.attestation import ATTESTATION
from validator.cli.audit import AUDIT
from validator.cli.completion import completion
from validator.cli.db import DB
from validator.cli.dispatch import JOINED, command_of, section_of
from validator.cli.doctor import doctor
from validator.cli.drain import drain
from validator.cli.executions import CODE_CHECKS, EXECUTIONS
from validator.cli.explain import explain
from validator.cli.flags import FLAGS
from validator.cli.health import health
from validator.cli.neurons import NEURONS
from validator.cli.options import VECTORS, group
from validator.cli.proof import PROOF
from validator.cli.replay import replay
from validator.cli.rounds import ROUNDS
from validator.cli.score import GROUPS, score
from validator.cli.service import run, serve, worker
from validator.cli.setup import WALLET, init
from validator.cli.sign_in import link
from validator.cli.status import status
from validator.cli.tasks import TASKS
from validator.cli.weights import WEIGHTS

APP: Final = group("validator", "Scores Signed Skill Safety Attestations and sets weights on a Bittensor subnet.")


@APP.callback()
def _itself(_version: Annotated[bool, typer.Option("--version", help="Print the version and end.")] = False) -> None:
    """Hold the option, which `dispatch.py` answers."""


for command in (init, run, drain, worker, serve, replay, explain, doctor, status, health, completion):
    APP.command()(command)
for commands in (
    ROUNDS,
    NEURONS,
    FLAGS,
    EXECUTIONS,
    CODE_CHECKS,
    WALLET,
    WEIGHTS,
    TASKS,
    AUDIT,
    PROOF,
    ATTESTATION,
    DB,
):
    APP.add_typer(commands)
WALLET.command()(link)
APP.command(rich_help_panel=VECTORS)(score)
APP.add_typer(GROUPS, rich_help_panel=VECTORS)

TREE: Final[Any] = typer.main.get_command(APP)
_joined: Final[dict[str, dict[str, str]]] = {}
for entry in sorted(entry_points(group=JOINED), key=lambda one: one.name):
    *path, name = entry.name.split(".")
    parent = TREE
    for word in path:
        parent = parent.commands[word]
    parent.add_command(command_of(entry.load(), name))
    _joined[entry.name] = {"entry": entry.name, "distribution": entry.dist.name if entry.dist else ""}


def index() -> dict[str, Any]:
    """Return what `dispatch.py` reads: a node for each command by its words, for `validator` itself by none."""
    with TREE.make_context("validator", ["rounds"], resilient_parsing=True) as context:
        return dict(_nodes(TREE, context, (), {}))


def _nodes(
    command: Any, context: typer.Context, path: Sequence[str], joined: Mapping[str, str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    joined = _joined.get(".".join(path), joined)
    parameters: dict[str, list[Sequence[str]]] = {}
    for parameter in command.get_params(context):
        if record := parameter.get_help_record(context):
            parameters.setdefault(f"{parameter.param_type_name.capitalize()}s", []).append(record)
    node = {
        "help": command.help,
        "usage": " ".join(command.collect_usage_pieces(context)),
        "parameters": parameters,
        **({"section": section_of(command)} if section_of(command) else {}),
        **joined,
    }
    if not isinstance(command, TyperGroup):
        node["place"] = f"{command.callback.__module__}:{command.callback.__qualname__}"
    yield " ".join(path), node
    for name, below in getattr(command, "commands", {}).items():
        yield from _nodes(below, context, (*path, name), joined)
